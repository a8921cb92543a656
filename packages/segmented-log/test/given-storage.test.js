'use strict'
// Storages that users give: each call is made on the instance.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

/** A storage with methods of a class, which need its private member; without the calls that are left out. */
function makeStorage (leftOut) {
  class Storage {
    #inner = fileStorage
    static {
      for (const [name, call] of Object.entries(fileStorage)) {
        if (leftOut.includes(name)) continue
        const value = typeof call === 'function' ? function (...args) { return this.#inner[name](...args) } : call
        Object.defineProperty(this.prototype, name, { value, writable: true, enumerable: false, configurable: true })
      }
    }
  }
  return new Storage()
}

const LEFT_OUT = {
  'with open folders': [],
  'without them': ['openFolder'],
  'without calls that do not wait': ['openFolder', 'openSync', 'renameSync', 'unlinkSync']
}

for (const [title, leftOut] of Object.entries(LEFT_OUT)) {
  for (const mode of [undefined, 0o640]) {
    tape(`storage: an instance of a class with private members, ${title}, ${mode === undefined ? 'no mode' : 'a mode'}`, async (t) => {
      const storage = makeStorage(leftOut)
      const options = { codec: jsonCodec, storage, ...(mode && { mode }) }
      for (const log of [OffsetLog(newPath('log'), options), SegmentedLog(temporaryFolder(), options)]) {
        await log.append([1, 2])
        await log.roll?.()
        await log.append(3)
        t.deepEqual(await collect(log.stream({ seqs: false })), [1, 2, 3])
        await log.close()
      }
    })
  }
}
