'use strict'
// One process of the race: opens the file, appends and closes, as it is told by lines of JSON.

const { createInterface } = require('node:readline')
const { promisify } = require('node:util')
const { BlockFile } = require('@millrace/block-file')
const { recordStorage } = require('../../../packages/block-file/test/record-storage')

/** @type {any} */
let blocks = null

const tell = (/** @type {object} */ answer) => process.stdout.write(`${JSON.stringify(answer)}\n`)
const call = (/** @type {string} */ name, /** @type {any[]} */ ...args) => promisify(blocks[name].bind(blocks))(...args)

/** @param {any} err */
function describe (err) {
  return { code: err.code ?? String(err), message: err.message }
}

/** @type {Record<string, (options: any) => Promise<object>>} */
const commands = {
  async open ({ file, isByRecord, lockTimeout = 0 }) {
    blocks = BlockFile(file, { lock: true, cache: 0, lockTimeout, storage: isByRecord ? recordStorage : undefined })
    try {
      await call('ready')
    } catch (err) {
      await call('close').catch(() => {})
      return describe(err)
    }
    return { code: 'none', kind: blocks.lock.kind }
  },
  async append ({ text }) {
    try {
      await call('append', Buffer.from(text))
      await call('sync')
      return { code: 'none' }
    } catch (err) {
      return describe(err)
    }
  },
  async close () {
    await call('close')
    return { code: 'none' }
  }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { name, ...options } = JSON.parse(line)
  tell(await commands[name](options))
}).on('close', () => process.exit())
tell({ code: 'started' })
