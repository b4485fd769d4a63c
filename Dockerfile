# The screen, in a container:
#   docker build -t pymoo_anon .
#   docker run --rm -it --network host --user "$(id -u)" -v "$PWD:/data" pymoo_anon
# The server answers 127.0.0.1 alone, so the container shares the network of its machine (Linux).
FROM python:3.12-slim
COPY LICENSE README.md pyproject.toml /src/
COPY pymoo_anon /src/pymoo_anon
RUN pip install --no-cache-dir "/src[app,excel,postgres]"
# Loops are compiled for whoever runs the container.
ENV NUMBA_CACHE_DIR=/tmp/loops HOME=/tmp
WORKDIR /data
ENTRYPOINT ["pymoo-anon"]
CMD ["app", ".", "--no-browser"]
