#!/bin/sh
# Run a standalone Spark cluster on one machine: a master and two workers.
#
#   sh docs/cluster/spark.sh start FOLDER    prints the master's address when both workers have joined
#   sh docs/cluster/spark.sh stop FOLDER
#
# The script uses the Spark of the PySpark that is installed for $PYTHON (python3 by default), and the system's Java
# (Debian and Ubuntu: apt-get install default-jre-headless). FOLDER gets logs and spilled data, which are as confidential
# as the data themselves, so only its owner can read it.
set -eu
folder=${2:?a folder for logs and spilled data must be given}
home=$("${PYTHON:-python3}" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
port=${SPARK_MASTER_PORT:-7077}
export SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS="$folder/spill" SPARK_WORKER_DIR="$folder/work"
case $1 in
start)
    umask 077
    mkdir -p "$folder/spill" "$folder/work"
    begin() { # name, class, arguments
        name=$1
        shift
        nohup "$home/bin/spark-class" "$@" > "$folder/$name.log" 2>&1 &
        echo $! > "$folder/$name.pid"
    }
    begin master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0
    for name in first second; do
        begin "$name" org.apache.spark.deploy.worker.Worker --cores 1 --memory 1g --webui-port 0 "spark://127.0.0.1:$port"
    done
    tries=0
    until [ "$(cat "$folder"/first.log "$folder"/second.log | grep -c 'Successfully registered with master')" = 2 ]; do
        tries=$((tries + 1))
        [ "$tries" -lt "${TRIES:-300}" ] || { echo "no cluster: see $folder/*.log" >&2; exit 1; }
        sleep 1
    done
    echo "spark://127.0.0.1:$port"
    ;;
stop)
    for name in first second master; do
        [ ! -f "$folder/$name.pid" ] || { kill "$(cat "$folder/$name.pid")" 2> /dev/null || true; rm "$folder/$name.pid"; }
    done
    ;;
*)
    echo "usage: spark.sh start|stop FOLDER" >&2
    exit 2
    ;;
esac
