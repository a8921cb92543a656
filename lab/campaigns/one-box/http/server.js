// @ts-nocheck
'use strict'
// The HTTP server of a box, with logs of its own beside that of the writer.

const path = require('node:path')
const { createIngest } = require('@millrace/ingest')
const { untilStopped } = require('../follower')

async function run (life) {
  const server = serve(life)
  const url = await life.step('listen', server.listen())
  await life.step('ready', server.ready())
  await life.tell({ opened: true, url })
  await untilStopped(life)
  await life.step('close', server.close())
}

function serve (life) {
  const { folder, setting, options } = life
  const { framing, drops, compress } = setting.http
  const { fsync, segmentSize, http: { bufferMs, hasIndex, dictionary } } = options
  return createIngest({
    port: 0,
    onReport: (err, log) => {
      // Counts of another log, or of one that was newer, it does not use.
      if (!(life.isChanged && err.code === 'counts_stale')) life.fault(`the server reports of ${log}: ${err.stack}`)
    },
    folder: path.join(folder, 'http'),
    bufferMs,
    dictionary: dictionary && framing === 'checked',
    log: {
      fsync,
      framing,
      segmentDay: 'UTC',
      segmentSize: drops ? Math.min(segmentSize, 250_000) : segmentSize,
      ...compress && { compress },
      ...drops && { maxSize: 1_600_000 }
    },
    ...hasIndex && { index: { events: ['user', { path: 'price', range: true }] } }
  })
}

exports.run = run
exports.serve = serve
