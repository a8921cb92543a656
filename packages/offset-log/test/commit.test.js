'use strict'
// Appends that wait: in order, and divided so that no group is larger than a write should be.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { Appender } = require('../lib/appender')
const { CommitQueue } = require('../lib/commit')

const seed = Date.now() % 2 ** 31
const SIZE_MAX = 1000

/** All appends in one list, divided anew at every look. */
class SlowQueue {
  constructor () {
    this.appends = []
  }

  take () {
    const group = []
    let size = 0
    for (const append of this.appends) {
      const isMark = append.size === 0
      if (group.length > 0 && (size + append.size > SIZE_MAX || isMark !== (size === 0))) break
      group.push(append)
      size += append.size
    }
    this.appends.splice(0, group.length)
    // What was taken gets no more: where it ended there is a border.
    return group.length > 0 ? { group, size } : null
  }
}

/** Removes the first commit, to which nothing is added any more. */
function take ({ list }) {
  const first = list.shift() ?? null
  if (first !== null) first.state = 'closed'
  return first
}

function addRandom (random, queue, slow) {
  const records = Array.from({ length: [0, 1, 1, 1, 2, 5][random(6)] }, () => Buffer.alloc(random(300)))
  const done = () => {}
  let size = records.reduce((total, { length }) => total + length + 4, 0)
  if (records.length > 0 && random(20) === 0) size += 1500
  queue.openFor(size).add(records.length === 1 ? records[0] : records, size, done)
  slow.appends.push({ records, size, done })
}

tape(`queue: groups are those that a slow one makes, whatever is added and taken between (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const queue = new CommitQueue(SIZE_MAX)
  const slow = new SlowQueue()
  let takenCount = 0
  for (let step = 0; step < 20000; step++) {
    if (random(5) > 0) {
      addRandom(random, queue, slow)
      continue
    }
    const taken = take(queue)
    const expected = slow.take()
    const isSame = taken === null
      ? expected === null
      : taken.count === expected.group.length && taken.size === expected.size &&
        expected.group.every(({ records, done }, index) => taken.dones[index] === done &&
          taken.recordsOf(index).length === records.length &&
          taken.recordsOf(index).every((record, at) => record === records[at]))
    if (!isSame) t.fail(`step ${step}`)
    if ((queue.list.length === 0) !== (slow.appends.length === 0)) t.fail(`step ${step}: empty or not`)
    if (taken === null) continue
    takenCount++
    if (random(4) > 0) queue.recycle(taken)
  }
  t.ok(takenCount > 100, `${takenCount} groups`)
  t.end()
})

tape('queue: a group that is used again keeps nothing of what it had', (t) => {
  const queue = new CommitQueue(SIZE_MAX)
  const record = Buffer.from('kept by nobody')
  const done = () => {}
  queue.openFor(18).add(record, 18, done)
  queue.openFor(36).add([record, record], 36, done)
  const group = take(queue)
  queue.recycle(group)
  t.notOk(group.records.includes(record), 'no record')
  t.notOk(group.dones.includes(done), 'no callback')
  t.equal(queue.openFor(4), group, 'it is used again')
  t.equal(group.count + group.recordCount + group.size, 0, 'and empty')
  t.equal(take(queue), group)
  t.equal(take(queue), null)
  t.end()
})

tape('queue: lists that grew long are not kept', (t) => {
  const queue = new CommitQueue(2 ** 30)
  for (let index = 0; index < 20000; index++) queue.openFor(5).add(Buffer.alloc(1), 5, () => {})
  const group = take(queue)
  t.equal(group.count, 20000)
  queue.recycle(group)
  t.notEqual(queue.openFor(5), group)
  t.end()
})

tape('commit: what flushSync has written does not fail with what was being prepared for it meanwhile', async (t) => {
  let failPreparing
  const preparing = new Promise((resolve, reject) => { failPreparing = reject })
  const file = {
    maxPendingSize: 2 ** 20,
    blocks: { path: '/log', appendNow () {}, beginAppend: () => t.fail('it is written once') },
    durability: { mode: 'never', error: null, noteWritten () {}, noteFailedWrite: (err) => err },
    lifecycle: { enter () {}, leave () {} },
    since: { set () {} },
    waitingStreams: new Set(),
    store: {
      frameOverhead: 4,
      room: 2 ** 20,
      writeSizeMax: (size) => size,
      checkpoints: { prepareAppend: () => preparing, prepareAppendNow () {} },
      frame: ({ seqs }) => {
        seqs[0] = 7
        return { bytes: Buffer.alloc(1), seq: 7, tail: { end: 1, shift: 0, chainCrc: 0 } }
      },
      noteWritten () {},
      show () {}
    }
  }
  const appender = new Appender(file)
  const appended = new Promise((resolve, reject) => {
    appender.append(Buffer.from('x'), 1, (err, seq) => err ? reject(err) : resolve(seq), false)
  })
  await new Promise(setImmediate)
  appender.flushNow(false)
  failPreparing(new Error('no room for a checkpoint'))
  t.equal(await appended, 7)
})
