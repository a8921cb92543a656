'use strict'

const { getEventListeners } = require('node:events')
const tape = require('tape')
const { abortable, abortError, onAbort, parseSignal } = require('@millrace/flow')

const later = () => new Promise((resolve) => setImmediate(resolve))

tape('signal: is parsed, or refused with a code', (t) => {
  const { signal } = new AbortController()
  t.equal(parseSignal('get', signal), signal)
  t.equal(parseSignal('get', undefined), null)
  for (const wrong of [null, 7, 'signal', {}, { aborted: true }]) {
    t.throws(() => parseSignal('get', wrong), { code: 'ERR_INVALID_ARGUMENT', message: /^get: signal/ })
  }
  t.end()
})

tape('abortError: is what Node.js fails with', (t) => {
  const reason = new Error('mine')
  const { name, code, cause, message } = abortError('get', AbortSignal.abort(reason))
  t.deepEqual([name, code, cause], ['AbortError', 'ABORT_ERR', reason])
  t.match(message, /^get: /)
  t.end()
})

tape('onAbort: many wait with one listener, some forget, the others run once', (t) => {
  const controller = new AbortController()
  const { signal } = controller
  let runs = 0
  const forget = Array.from({ length: 10_000 }, () => onAbort(signal, () => runs++))
  t.equal(getEventListeners(signal, 'abort').length, 1)
  for (const one of forget.slice(1)) one()
  t.equal(getEventListeners(signal, 'abort').length, 1)
  forget[0]()
  t.equal(getEventListeners(signal, 'abort').length, 0)
  forget[0]()
  onAbort(signal, () => runs++)
  onAbort(signal, () => runs++)
  controller.abort()
  t.equal(runs, 2)
  t.equal(getEventListeners(signal, 'abort').length, 0)
  t.equal(onAbort(null, () => {})(), undefined)
  t.end()
})

tape('onAbort: one that throws keeps no other from running', async (t) => {
  const controller = new AbortController()
  let hasRun = false
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve))
  onAbort(controller.signal, () => { throw new Error('mine') })
  onAbort(controller.signal, () => { hasRun = true })
  controller.abort()
  t.ok(hasRun)
  t.equal((await thrown).message, 'mine')
})

tape('abortable: calls back once, with whatever comes first', async (t) => {
  const results = []
  const note = (err, result) => results.push(err?.code ?? result)
  abortable('get', null, note, (cb) => cb(null, 'no signal'))
  const early = new AbortController()
  abortable('get', early.signal, note, (cb) => cb(null, 'done'))
  early.abort()
  abortable('get', early.signal, note, () => t.fail('it does not run'))
  await later()
  const late = new AbortController()
  let finish
  abortable('get', late.signal, note, (cb) => { finish = cb })
  late.abort()
  t.equal(results.length, 3, 'not before abort returns')
  await later()
  finish(null, 'too late')
  t.deepEqual(results, ['no signal', 'done', 'ABORT_ERR', 'ABORT_ERR'])
})
