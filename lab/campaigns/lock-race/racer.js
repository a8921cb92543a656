'use strict'
// A process that opens a log for writing when it is told to, appends to it if it could, and holds it until it is told
// to close. Or one that is killed, by itself, at some moment of all this.

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')

/**
 * @typedef {object} Order  what the parent sends
 * @property {string} [path]  of the log to open
 * @property {number} [atMs]  when, since 1970; at once by default
 * @property {string} [text]  of the record to append
 * @property {number} [killedAt]  at which of the calls that have to do with the lock it is killed
 */

/** @type {any} */
let log = null

process.on('message', async (/** @type {Order} */ { path, atMs = 0, text = '', killedAt }) => {
  if (path === undefined) {
    await log.close()
    return process.send?.({ closed: true })
  }
  if (killedAt !== undefined) dieAt(killedAt)
  setTimeout(() => race(path, text), Math.max(0, atMs - Date.now()))
})
process.on('disconnect', () => process.exit())

/** @type {(path: string, text: string) => Promise<void>} */
async function race (path, text) {
  log = OffsetLog(path, { fsync: 'never' })
  try {
    await log.ready()
    const seq = await log.append(Buffer.from(text))
    process.send?.({ won: true, seq })
  } catch (err) {
    const { code, message, holder } = /** @type {any} */ (err)
    process.send?.({ code, message, holder })
  }
}

/** @param {number} index  of a call, from 0 */
function dieAt (index) {
  let count = 0
  for (const name of ['writeFile', 'link', 'open', 'rename', 'unlink', 'readdir']) {
    const calls = /** @type {any} */ (fs)
    const run = calls[name]
    calls[name] = (/** @type {any[]} */ ...args) => {
      const isAboutLock = name === 'readdir' || args.some((arg) => typeof arg === 'string' && arg.includes('.lock'))
      if (isAboutLock && count++ === index) process.kill(process.pid, 'SIGKILL')
      else run(...args)
    }
  }
}
