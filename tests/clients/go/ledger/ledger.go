// Package ledger is what the Go programs of the report card share: they write numbered records per
// key, hold what is read against what was written, and tell on stdout how each item went.
package ledger

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// Keys is how many keys the records have in turn.
	Keys = 12
	// Partitions is how many partitions each topic has.
	Partitions = 6
	// Half is how many records are written before a disk may fail, and after it at least.
	Half = 600
	// Pace is the pause between two records.
	Pace = time.Millisecond
	// Deadline is for a whole item.
	Deadline = 120 * time.Second
)

var (
	stdout = json.NewEncoder(os.Stdout)
	stdin  = bufio.NewScanner(os.Stdin)
)

// Coordinated names what has a coordinator; either name may be empty.
type Coordinated struct {
	// Group reads what is written.
	Group string
	// TransactionalID copies it.
	TransactionalID string
}

// Halfway says that a disk may fail now, under whatever, and gives what closes once that is done.
func Halfway(topic string, of Coordinated) <-chan struct{} {
	done := make(chan struct{})
	tell(map[string]any{"halfway": topic, "group": of.Group, "transactional_id": of.TransactionalID})
	go func() {
		stdin.Scan()
		close(done)
	}()
	return done
}

// Run runs the items that the command line names (BOOTSTRAP PREFIX ITEM...) and tells how each went.
func Run(version string, items map[string]func(bootstrap []string, prefix string) (string, error), bootstrap []string) {
	tell(map[string]any{"version": version})
	for _, name := range os.Args[3:] {
		item, known := items[name]
		if !known {
			tell(map[string]any{"item": name, "ok": false, "told": "no such item"})
			continue
		}
		told, err := item(bootstrap, os.Args[2])
		if err != nil {
			told = err.Error()
		}
		tell(map[string]any{"item": name, "ok": err == nil, "told": told})
	}
}

func tell(line map[string]any) {
	if err := stdout.Encode(line); err != nil {
		panic(err)
	}
}

// Ledger counts what was written and read of each key. Its methods may be called by any goroutine.
type Ledger struct {
	mutex   sync.Mutex
	written [Keys]int
	seen    [Keys]int
	again   int
	errors  []string
}

// Next gives the next record to write: key and value are numbers as text.
func (l *Ledger) Next() (key, value string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	total := 0
	for _, count := range l.written {
		total += count
	}
	number := total % Keys
	l.written[number]++
	return strconv.Itoa(number), strconv.Itoa(l.written[number] - 1)
}

// Read takes a record that was read: no key may leave a number out.
func (l *Ledger) Read(key, value string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	k, keyErr := strconv.Atoi(key)
	n, valueErr := strconv.Atoi(value)
	switch {
	case keyErr != nil || valueErr != nil || k < 0 || k >= Keys:
		l.errors = append(l.errors, fmt.Sprintf("read %q=%q, which nobody wrote", key, value))
	case n < l.seen[k]:
		l.again++
	case n > l.seen[k]:
		l.errors = append(l.errors, fmt.Sprintf("key %d: %d came before %d", k, n, l.seen[k]))
	default:
		l.seen[k]++
	}
}

// Fail takes an error that a client gave to the application.
func (l *Ledger) Fail(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.errors = append(l.errors, err.Error())
}

// Total gives how many records are written and how many different ones are read.
func (l *Ledger) Total() (written, seen int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for key := range Keys {
		written += l.written[key]
		seen += l.seen[key]
	}
	return written, seen
}

// Again gives how many records were read more than once.
func (l *Ledger) Again() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.again
}

// Judge gives an error unless all that was written is read in the order of each key, without an
// error to the application, and where exactly is set nothing twice.
func (l *Ledger) Judge(exactly bool) error {
	written, seen := l.Total()
	switch {
	case len(l.errors) > 0:
		return fmt.Errorf("%d errors, the first: %s", len(l.errors), l.errors[0])
	case written != seen:
		return fmt.Errorf("%d of %d records are lost", written-seen, written)
	case exactly && l.again > 0:
		return fmt.Errorf("%d records are there twice", l.again)
	}
	return nil
}

// Write writes by send until Half records after done is closed, Half records before it.
func (l *Ledger) Write(topic string, of Coordinated, send func(key, value string)) {
	for range Half {
		send(l.Next())
		time.Sleep(Pace)
	}
	done := Halfway(topic, of)
	for isDone, left := false, Half; left > 0; {
		select {
		case <-done:
			isDone = true
		default:
		}
		if isDone {
			left--
		}
		send(l.Next())
		time.Sleep(Pace)
	}
}

// Until waits for a condition.
func Until(what string, condition func() bool) error {
	end := time.Now().Add(Deadline)
	for !condition() {
		if time.Now().After(end) {
			return fmt.Errorf("not so after %s: %s", Deadline, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
