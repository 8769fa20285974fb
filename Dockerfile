# One image for all processes: compose.yaml says which one a container runs.
# It starts the same modules that `jbodlab up` starts where the project is installed.
# Without Spark: Dockerfile.spark puts it on top.
FROM python:3.11-slim AS base
WORKDIR /opt/jbodlab

# The locked libraries, in a stage of their own: a change of code does not fetch them again. What
# only a debugger reads stays behind, 22 MB of symbols, and so does Pygments, 9 MB, with which rich
# would colour source code: no command prints any.
FROM base AS libraries
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
COPY requirements-runtime.lock ./
RUN python -m venv --without-pip venv && \
    python -m pip --python venv/bin/python install --no-cache-dir --require-hashes -r requirements-runtime.lock && \
    python -m pip --python venv/bin/python uninstall --yes pygments
RUN find venv -name '*.so' -exec strip --strip-unneeded {} +

FROM base AS package
COPY pyproject.toml README.md LICENSE ./source/
COPY build_backend ./source/build_backend
COPY protocol ./source/protocol
COPY broker ./source/broker
COPY controller ./source/controller
COPY analytics ./source/analytics
COPY conformance ./source/conformance
COPY simulation ./source/simulation
COPY jbodlab ./source/jbodlab
RUN python -m venv --without-pip venv && \
    python -m pip --python venv/bin/python install --no-cache-dir --no-deps ./source

FROM base
COPY --from=libraries /opt/jbodlab/venv ./venv
COPY --from=package /opt/jbodlab/venv ./venv
ENV PATH=/opt/jbodlab/venv/bin:$PATH
COPY compose.cluster.yaml compose.networks.cluster.yaml ./

# Whoever the processes run as may write here, and in the volumes that begin as copies of these.
RUN for dir in . controller metrics b1 b1/d1 b1/d2 b1/d3 b2 b2/d1 b2/d2 b2/d3 b3 b3/d1 b3/d2 b3/d3; do \
    mkdir -p data/$dir && chmod 1777 data/$dir; done
USER 1000:1000

# A broker or the controller ends cleanly on SIGTERM, which is what `docker stop` sends.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "jbodlab.controller", "--config", "compose.cluster.yaml"]
