'use strict'
// A task that throws an error with others below it.

const { LogError } = require('@millrace/errors')

const ways = {
  chain () {
    const lowest = Object.assign(new RangeError('lowest'), { code: 'ENOSPC', errno: -28, syscall: 'write', dest: ['a', 'b'] })
    const middle = new LogError('ERR_LOG_CORRUPT', 'middle', { cause: lowest, offset: 7, path: ['a', 1] })
    return new Error('highest', { cause: middle })
  },
  value: () => ({ some: new Map([[1, 2]]) }),
  text: () => new TypeError('highest', { cause: 'a text' }),
  function: () => Object.assign(new Error('highest', { cause: () => {} }), { call () {}, kept: 1 }),
  circle () {
    const err = new Error('highest')
    err.cause = new Error('middle', { cause: err })
    return err
  },
  many: () => new AggregateError([new Error('one'), 'two'], 'highest'),
  hostile: () => Object.defineProperty(new Error('highest'), 'cause', { get () { throw new Error('no') } }),
  'no prototype': () => Object.create(null)
}

module.exports = (name) => ({ onRecords () { throw ways[name]() } })
