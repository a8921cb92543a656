'use strict'
// A chat: messages in a log, and beside it a flumedb view that knows who said how much, without reading them all again.
// Usage: node chat.js <file> [<author> <text>]

const path = require('node:path')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const pull = require('pull-stream')
const { OffsetLog } = require('@millrace/offset-log')
const { binaryCodec } = require('@millrace/binary-codec')

const VIEW_VERSION = 1
const SHOWN_COUNT = 10

/** @param {string} file */
function openChat (file) {
  const log = OffsetLog(file, { codec: binaryCodec })
  // The view is kept in the folder of the log, in `flume/activity`-like files of its own, and goes on where it was.
  return Flume(log).use('activity', Reduce(VIEW_VERSION, (counts, { author }) => {
    return { ...counts, [author]: (counts?.[author] ?? 0) + 1 }
  }, null, null, {}))
}

/**
 * @param {ReturnType<typeof openChat>} chat
 * @param {(err: Error | null, messages?: object[]) => void} cb
 */
function lastMessages (chat, cb) {
  pull(
    chat.stream({ reverse: true, limit: SHOWN_COUNT, seqs: false }),
    pull.collect((err, messages) => cb(err, messages?.reverse()))
  )
}

/** @param {string[]} args */
function main ([file, author, text]) {
  if (!file || (author && !text)) {
    console.error('usage: node chat.js <file> [<author> <text>]')
    process.exitCode = 1
    return
  }
  const chat = openChat(path.resolve(file))
  const show = (err) => {
    if (err) return fail(err)
    lastMessages(chat, (err, messages = []) => {
      if (err) return fail(err)
      for (const { author, text } of messages) console.log(`${author}: ${text}`)
      chat.activity.get((err, counts) => {
        if (err) return fail(err)
        const summary = Object.entries(counts ?? {}).map(([author, count]) => `${author} ${count}`).join(', ')
        console.log(`messages: ${summary || 'none'}`)
        chat.close(() => {})
      })
    })
  }
  if (author) chat.append({ author, text, at: Date.now() }, show)
  else show(null)
}

/** @param {any} err */
function fail (err) {
  console.error(`${err.code ?? 'error'}: ${err.message}`)
  process.exit(1)
}

main(process.argv.slice(2))
