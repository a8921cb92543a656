'use strict'

const tape = require('tape')
const { createCaseAgreement: createAgreement, planCases } = require('../layers/cases')
const { layers: allLayers, stacks } = require('..')
const { DisagreementError } = require('../lib/run')

const ours = { name: 'ours', framing: 'offset32' }
const reference = { name: 'reference', framing: 'offset32', slowUpTo: 8192 }
const other = { name: 'other', framing: 'checked' }
const layers = [
  { name: 'file', delivers: 'file', log: 'json', perBlockSize: true },
  { name: 'log', delivers: 'records', log: 'json', perBlockSize: false }
]
const plan = (options) => planCases({
  stacks: [ours, reference], layers, blockSizes: [4096, 65536], runs: 3, isLong: () => true, ...options
})
const count = (cases, wanted) => cases.filter((one) => {
  return Object.entries(wanted).every(([key, value]) => (one[key].name ?? one[key]) === value)
}).length

tape('plan: every case runs as often as asked, slow ones once and on the prefix', (t) => {
  const cases = plan()
  t.equal(count(cases, { stack: 'ours', layer: 'log', blockSize: 4096, unmeasured: false }), 3)
  t.equal(count(cases, { stack: 'ours', prefix: true, unmeasured: false }), 0)
  t.equal(count(cases, { stack: 'reference', layer: 'log', blockSize: 65536, prefix: false }), 3)
  t.equal(count(cases, { stack: 'reference', layer: 'log', blockSize: 4096 }), 1)
  t.equal(count(cases, { stack: 'reference', layer: 'log', blockSize: 4096, prefix: true }), 1)
  t.end()
})

tape('plan: a short log is read whole by all', (t) => {
  const cases = plan({ isLong: () => false })
  t.equal(cases.length, 2 * 2 * 2 * 3)
  t.equal(count(cases, { prefix: true }), 0)
  t.end()
})

tape('plan: stacks take turns, and no stack is always first', (t) => {
  const firsts = [1, 2, 3].map((run) => plan().find((one) => one.run === run && one.blockSize === 65536).stack.name)
  t.equal(new Set(firsts).size, 2)
  const runs = plan().filter((one) => !one.unmeasured).map((one) => one.run)
  t.deepEqual(runs, [...runs].sort(), 'rounds are outermost')
  t.end()
})

tape('plan: the repeats of a slow layer come last, where time may run out', (t) => {
  const cases = plan({ layers: [{ ...layers[0], isSlow: true }, layers[1]] }).filter((one) => !one.unmeasured)
  const order = cases.map((one) => `${one.layer.name} ${one.run}`).filter((step, index, all) => step !== all[index - 1])
  t.deepEqual(order.slice(-4), ['log 2', 'log 3', 'file 2', 'file 3'])
  t.equal(count(cases, { layer: 'file', stack: 'ours' }), 6)
  t.end()
})

tape('plan: what reads the prefix has a witness, one for all block sizes where these do not matter', (t) => {
  const cases = plan({ blockSizes: [2048, 4096, 65536] })
  const wanted = { stack: 'ours', prefix: true, unmeasured: true }
  t.equal(count(cases, { ...wanted, layer: 'log' }), 1)
  t.equal(count(cases, { ...wanted, layer: 'file', blockSize: 2048 }), 1)
  t.equal(count(cases, { ...wanted, layer: 'file', blockSize: 4096 }), 1)
  t.equal(count(cases, { unmeasured: true }), 3)
  t.end()
})

tape('plan: a stack alone, or of another framing, has no witness', (t) => {
  t.equal(count(plan({ stacks: [reference] }), { unmeasured: true }), 0)
  t.equal(count(plan({ stacks: [other, reference] }), { unmeasured: true }), 0)
  t.end()
})

const answer = { records: 10, delivered: 100, seqSum: 45, seqDigest: 'ab', digest: 'cd' }
const at = (stack, layer = layers[1], more = {}) => ({ stack, layer, blockSize: 65536, run: 1, prefix: false, ...more })

tape('agreement: equal answers pass', (t) => {
  const agree = createAgreement()
  agree(at(ours), answer)
  agree(at(reference), { ...answer })
  agree(at(reference, layers[0]), { ...answer, records: 3 })
  agree(at(ours, layers[1], { prefix: true }), { ...answer, records: 4 })
  agree(at(ours, layers[0], { blockSize: 1024 }), { ...answer, records: 5 })
  t.pass('layers, prefixes and block sizes are compared with their own kind')
  t.end()
})

for (const field of Object.keys(answer)) {
  tape(`agreement: a different ${field} is refused, by name`, (t) => {
    const agree = createAgreement()
    agree(at(ours), answer)
    try {
      agree(at(reference), { ...answer, [field]: 'x' })
      t.fail('accepted')
    } catch (err) {
      t.ok(err instanceof DisagreementError)
      for (const word of ['ours', 'reference', 'layer log', '64 KiB', field]) t.ok(err.message.includes(word), word)
    }
    t.throws(() => agree(at(ours, layers[1], { run: 2 }), { ...answer, [field]: 'x' }), DisagreementError, 'nor in a later run')
    t.end()
  })
}

tape('agreement: records do not depend on the block size', (t) => {
  const agree = createAgreement()
  agree(at(ours), answer)
  t.throws(() => agree(at(reference, layers[1], { blockSize: 1024 }), { ...answer, digest: 'x' }), DisagreementError)
  t.end()
})

tape('agreement: another framing has the same records elsewhere', (t) => {
  const agree = createAgreement()
  agree(at(ours), answer)
  agree(at(other), { ...answer, seqSum: 99, seqDigest: 'zz' })
  t.throws(() => agree(at(other), { ...answer, digest: 'x' }), DisagreementError)
  agree(at(ours, layers[0]), answer)
  agree(at(other, layers[0]), { ...answer, records: 11, digest: 'x' })
  t.pass('and its file has other bytes')
  t.end()
})

tape('registry: every layer drives a primitive that every stack has', (t) => {
  for (const stack of stacks) {
    for (const layer of allLayers) {
      t.equal(typeof stack.primitives[layer.primitive], 'function', `${stack.name}: ${layer.primitive}`)
    }
  }
  t.end()
})
