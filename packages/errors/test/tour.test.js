'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const { LogError, asError, checkOptions, codes, misuse, reasonOf } = require('..')

tape('tour: a LogError is an Error with a code, and the table says what the code means', (t) => {
  const err = new LogError('ERR_LOG_CLOSED', 'append: the log is closed; open it again first')
  t.ok(err instanceof Error)
  t.equal(err.name, 'LogError')
  t.equal(err.code, 'ERR_LOG_CLOSED')
  t.equal(codes[err.code], 'the log was closed before the call')
  t.end()
})

tape('tour: the fields say where; those that are not set are absent', (t) => {
  const cause = new Error('EIO: i/o error')
  const err = new LogError('ERR_LOG_CORRUPT', 'a checksum is wrong', { cause, offset: 65536, path: '/data/events.log' })
  t.equal(err.cause, cause)
  t.equal(err.offset, 65536)
  t.equal(err.path, '/data/events.log')
  t.notOk('index' in err)
  t.notOk('holder' in err)
  t.end()
})

tape('tour: a mistake of the caller is a TypeError with a code', (t) => {
  const err = misuse('append: expected a value')
  t.ok(err instanceof TypeError)
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
  t.end()
})

tape('tour: checkOptions refuses an option that does not exist, and says which was meant', (t) => {
  checkOptions('stream', { limit: 1, gt: undefined }, ['limit', 'gt'])
  t.throws(() => checkOptions('stream', { limt: 1 }, ['limit', 'gt']), /there is no option limt; did you mean limit/)
  t.throws(() => checkOptions('pino', { maxSize: 1 }, ['log'], { log: ['maxSize'] }), /it belongs in log/)
  t.throws(() => checkOptions('get', ['limit']), /get: expected options, got an array/)
  t.end()
})

tape('tour: anything that is thrown becomes an Error, with a text', (t) => {
  const thrown = new Error('as it was')
  t.equal(asError(thrown, 'the codec'), thrown)
  const wrapped = asError('a text', 'the codec')
  t.ok(wrapped instanceof TypeError)
  t.equal(wrapped.cause, 'a text')
  t.match(wrapped.message, /^the codec threw a text/)
  t.equal(reasonOf(thrown), 'as it was')
  t.equal(reasonOf(Object.create(null)), 'a value that has no text')
  t.end()
})
