# contend's server with its live page, for one machine: see docs/production.md.
FROM python:3.11-slim
RUN useradd --create-home contend && install -d -o contend /data
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[serve,web]"
USER contend
ENV CONTEND_WORKSPACE=/data
VOLUME /data
EXPOSE 2024
# It asks for CONTEND_SERVER_TOKEN: without one it does not start.
CMD ["contend", "serve", "--host", "0.0.0.0", "--expose"]
