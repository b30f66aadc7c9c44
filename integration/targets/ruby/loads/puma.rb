# SPDX-License-Identifier: Apache-2.0
# Settings of the server: the port and the number of workers, 0 for puma's single mode, are in the environment.
bind "tcp://127.0.0.1:#{ENV.fetch("LOAD_PORT")}"
environment "production"
threads 5, 5
quiet

count = Integer(ENV.fetch("LOAD_WORKERS"))
if count > 0
  workers count
  preload_app!
  # Who samples the workers stops them for a while, which the preforking process must not take for a fault.
  worker_timeout 100_000
end
