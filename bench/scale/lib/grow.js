'use strict'
// Appends messages to a log until its file has a size, and closes it. The same few thousand messages again and again:
// to make new ones would take longer than all the rest.

const fs = require('node:fs')
const { encode } = require('@millrace/binary-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createMessages, DEFAULT_SEED } = require('../../lib/generate-messages')

const MESSAGE_COUNT = 20_000
const BATCH_COUNT = 500

/**
 * @param {{ file: string, framing: import('./shapes').FramingName, size: number }} order
 * @returns {Promise<{ size: number }>}
 */
async function grow ({ file, framing, size }) {
  const { next } = createMessages(DEFAULT_SEED)
  const messages = Array.from({ length: MESSAGE_COUNT }, () => encode(next()))
  const log = OffsetLog(file, { framing, fsync: 'never' })
  await log.ready()
  for (let done = 0; fs.statSync(file).size < size; done += BATCH_COUNT) {
    await log.append(messages.slice(done % MESSAGE_COUNT, done % MESSAGE_COUNT + BATCH_COUNT))
  }
  // Synced, so that nothing is left to be written while it is read.
  await log.close()
  return { size: fs.statSync(file).size }
}

exports.grow = grow
