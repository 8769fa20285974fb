// Asks the HTTP API that this page came from. The token, where one is needed, is in the address:
// behind the #, which no browser sends to a server.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const credentials = token ? { Authorization: `Bearer ${token}` } : {};

export async function ask(method, path, body) {
  const headers = { ...credentials };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error}; ${answer.what_to_do}`);
  return answer;
}

// Yields events behind lastId until the connection ends. EventSource cannot send a token.
export async function* events(lastId) {
  const headers = { ...credentials, "Last-Event-ID": String(lastId) };
  const response = await fetch("events", { headers });
  if (!response.ok) throw new Error(`events: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}
