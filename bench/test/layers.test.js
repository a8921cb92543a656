'use strict'

const tape = require('tape')
const { table } = require('../tables/layers')
const { answersOf, isSlow } = require('../tables/layers/measure')
const { DisagreementError, createAgreement } = require('../lib/run')

const [offset, reference] = ['offset32', 'flumelog'].map((name) => table.peers.find((peer) => peer.name === name))
const checked = { name: 'checked', framing: 'checked' }
const file = { delivers: 'file', perBlockSize: true }
const log = { delivers: 'records' }
const result = { records: 10, delivered: 100, seqSum: 45, seqDigest: 'ab', digest: 'cd' }

/** What may go together: each is [stack, layer, block size, whether it reads the prefix, what differs]. */
function agreeAll (...readings) {
  const agree = createAgreement()
  for (const [stack, layer, at, isPrefix, more] of readings) {
    const answers = answersOf(stack, layer, at, isPrefix, { ...result, ...more })
    for (const [name, answer] of Object.entries(answers)) agree(name, stack.name, answer)
  }
}

tape('layers: every layer drives a primitive that every stack of it has', (t) => {
  for (const row of table.groups[0].rows) {
    for (const peer of table.peers.filter(({ name }) => row.peers[name])) {
      t.equal(typeof peer.primitives[row.primitive], 'function', `${peer.name}: ${row.name}`)
    }
  }
  t.end()
})

tape('layers: the same records must come, whatever the block size', (t) => {
  for (const field of Object.keys(result)) {
    t.throws(() => agreeAll([offset, log, 65536, false], [reference, log, 1024, false, { [field]: 'x' }]), DisagreementError, field)
  }
  agreeAll([offset, log, 65536, false], [reference, log, 1024, false])
  t.end()
})

tape('layers: another framing has the same records elsewhere, and other bytes in its file', (t) => {
  agreeAll([offset, log, 65536, false], [checked, log, 65536, false, { seqSum: 99, seqDigest: 'zz' }])
  t.throws(() => agreeAll([offset, log, 65536, false], [checked, log, 65536, false, { digest: 'x' }]), DisagreementError)
  agreeAll([offset, file, 65536, false], [checked, file, 65536, false, { records: 11, digest: 'x' }])
  agreeAll([offset, file, 65536, false], [offset, file, 1024, false, { records: 640, digest: 'y' }])
  t.throws(() => agreeAll([offset, file, 65536, false], [reference, file, 65536, false, { digest: 'x' }]), DisagreementError)
  t.end()
})

tape('layers: the first 64 MiB are compared with the first 64 MiB', (t) => {
  const [four, five] = [{ records: 4 }, { records: 5 }]
  agreeAll([offset, log, 65536, false], [offset, log, 1024, true, four], [reference, log, 1024, true, four])
  t.throws(() => agreeAll([offset, log, 1024, true, four], [reference, log, 1024, true, five]), DisagreementError)
  t.deepEqual([1024, 8192, 8193, 65536].map((at) => isSlow(reference, at)), [true, true, false, false])
  t.notOk(isSlow(offset, 1))
  t.end()
})
