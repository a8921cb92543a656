'use strict'
// A process that converts, and is killed at the given call of its storage.
// Usage: node killed-conversion.js <from> <to> <number of the call>

const { binaryCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { convert } = require('..')

const [from, to, last] = process.argv.slice(2)
let count = 0

/** Counts the calls of some functions, and is killed in the last one. */
function counted (target, names) {
  const result = { ...target }
  for (const name of names.filter((name) => target[name])) {
    result[name] = (...args) => {
      if (count++ === Number(last)) process.kill(process.pid, 'SIGKILL')
      return target[name](...args)
    }
  }
  return result
}

const calls = counted(fileStorage, ['rename', 'unlink', 'syncFolder'])
const storage = {
  ...calls,
  open: (path, options, cb) => fileStorage.open(path, options, (err, handle) => {
    cb(err, handle && counted(handle, ['write', 'writeSync', 'truncate', 'sync', 'syncSync']))
  })
}

convert(from, to, { fromCodec: jsonCodec, toCodec: binaryCodec, batchSize: 100, storage })
  .then(() => console.log('done'), (err) => console.log(err.code, err.message))
