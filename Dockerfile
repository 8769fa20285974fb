# One image for all processes: compose.yaml says which one a container runs.
# It starts the same modules that `jbodlab up` starts where the project is installed.
FROM python:3.11-slim

WORKDIR /opt/jbodlab

# The locked libraries first, so that a change of code does not fetch them again.
COPY requirements-runtime.lock ./
RUN python -m pip install --no-cache-dir --require-hashes -r requirements-runtime.lock

COPY pyproject.toml README.md LICENSE ./source/
COPY build_backend ./source/build_backend
COPY protocol ./source/protocol
COPY broker ./source/broker
COPY controller ./source/controller
COPY analytics ./source/analytics
COPY simulation ./source/simulation
COPY jbodlab ./source/jbodlab
RUN python -m pip install --no-cache-dir --no-deps ./source && rm -r ./source

COPY compose.cluster.yaml ./

# Whoever the processes run as may write here, and in the volumes that begin as copies of these.
RUN for dir in . controller metrics b1 b1/d1 b1/d2 b1/d3 b2 b2/d1 b2/d2 b2/d3 b3 b3/d1 b3/d2 b3/d3; do \
    mkdir -p data/$dir && chmod 1777 data/$dir; done
USER 1000:1000

# A broker or the controller ends cleanly on SIGTERM, which is what `docker stop` sends.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "jbodlab.controller", "--config", "compose.cluster.yaml"]
