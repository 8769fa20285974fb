# One image for all processes: compose.yaml says which one a container runs.
# It starts the same `python -m controller` and `python -m broker` that `jbodlab up` starts.
FROM python:3.11-slim

WORKDIR /opt/jbodlab

# The locked libraries first, so that a change of code does not fetch them again.
COPY requirements-runtime.lock ./
RUN python -m pip install --no-cache-dir --require-hashes -r requirements-runtime.lock

COPY pyproject.toml README.md ./
COPY protocol ./protocol
COPY broker ./broker
COPY controller ./controller
COPY analytics ./analytics
COPY simulation ./simulation
COPY jbodlab ./jbodlab
RUN python -m pip install --no-cache-dir --no-deps .

COPY compose.cluster.yaml ./

# A broker or the controller ends cleanly on SIGTERM, which is what `docker stop` sends.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "controller", "--config", "compose.cluster.yaml"]
