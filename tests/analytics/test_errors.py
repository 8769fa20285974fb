from pyspark.errors import PySparkValueError

from analytics.errors import spark_error_text


def test_the_first_line_of_an_error_says_what_is_the_matter() -> None:
    assert spark_error_text(PySparkValueError("first\n\nJVM stacktrace:\n...")) == "first"


def test_an_error_without_text_is_named_by_its_type() -> None:
    assert spark_error_text(PySparkValueError("")) == "PySparkValueError"
