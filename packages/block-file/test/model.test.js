'use strict'
// Random work on a block file, against a plain Buffer that answers the same questions.

const fs = require('node:fs')
const { promisify } = require('node:util')
const fc = require('fast-check')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { BlockFile } = require('..')

const seed = Date.now() % 2 ** 31
const position = fc.nat(400)
const length = fc.nat(90)
const operation = fc.oneof(
  fc.record({ name: fc.constant('append'), length, fill: fc.nat(255) }),
  fc.record({ name: fc.constant('write'), position, length, fill: fc.nat(255) }),
  fc.record({ name: fc.constant('truncate'), position }),
  fc.record({ name: fc.constantFrom('read', 'scan', 'window', 'backward'), position, length }),
  fc.record({ name: fc.constant('peek'), position, length, least: fc.nat(20), inOrder: fc.boolean() })
)

tape(`BlockFile: random work gives what a Buffer gives (seed ${seed})`, async (t) => {
  const property = fc.asyncProperty(
    fc.array(operation, { maxLength: 40 }),
    fc.integer({ min: 1, max: 64 }),
    fc.integer({ min: 0, max: 6 }),
    fc.boolean(),
    async (operations, blockSize, cachedBlocks, mayBlock) => {
      const file = newPath('blocks')
      const blocks = BlockFile(file, { blockSize, cache: cachedBlocks * blockSize })
      const subject = { blocks, window: null, peeker: null, taken: [], model: Buffer.alloc(0) }
      if (!mayBlock) blocks._file.adaptiveIo.mayBlock = () => false
      await promisify(blocks.ready.bind(blocks))()
      for (const operation of operations) await run(subject, operation)
      for (const { bytes, wanted } of subject.taken) same(bytes, wanted)
      await promisify(blocks.close.bind(blocks))()
      same(fs.readFileSync(file), subject.model)
    })
  await fc.assert(property, { seed, numRuns: 300 })
  t.pass('300 files')
})

async function run (subject, { name, position = 0, length = 0, fill = 0, least = 0, inOrder = false }) {
  const { blocks, model } = subject
  const call = (method, ...args) => promisify(blocks[method].bind(blocks))(...args)
  const start = Math.min(position, model.length)
  const end = Math.min(start + length, model.length)
  const wanted = model.subarray(start, end)
  if (name === 'append') {
    subject.model = Buffer.concat([model, Buffer.alloc(length, fill)])
    await call('append', Buffer.alloc(length, fill))
  } else if (name === 'write') {
    model.fill(fill, start, end)
    await call('write', Buffer.alloc(end - start, fill), start)
  } else if (name === 'truncate') {
    subject.model = model.subarray(0, start)
    await call('truncate', start)
  } else if (name === 'read') {
    same(await call('read', start, end), wanted)
  } else if (name === 'scan') {
    const parts = []
    await call('scan', { start, end }, (block) => { parts.push(Buffer.from(block)) })
    same(Buffer.concat(parts), wanted)
  } else if (name === 'peek') {
    peek(subject, start, Math.min(least, end - start), end - start, inOrder)
  } else {
    await moveWindow(subject, name === 'window', start, end, wanted)
  }
  if (blocks.size.value !== subject.model.length) throw new Error(`size is ${blocks.size.value}`)
}

/** The same window is moved about all the time, so that what it kept from before meets what was written since. */
async function moveWindow (subject, isForward, start, end, wanted) {
  const window = (subject.window ??= subject.blocks.createSpanReader())
  const load = promisify((isForward ? window.loadForward : window.loadBackward).bind(window))
  const { length } = subject.model
  if (!isForward) await load(end, end - start, 0)
  else if (start % 2 === 0 || !window.loadForwardNow(start, end - start, length)) await load(start, end - start, length)
  if (window.start > start || window.end < end) throw new Error(`window from ${window.start} to ${window.end}`)
  same(window.buffer.subarray(start - window.start, end - window.start), wanted)
}

/**
 * What is taken stays as it is, whatever comes after it; and its owner may write to it. There may be more than was
 * wished for: what is cached of a block.
 */
function peek (subject, start, least, request, inOrder) {
  const peeker = (subject.peeker ??= subject.blocks.createPeeker())
  if (!peeker.look(start, least, request, inOrder)) return
  const { bytes, view, offset, size } = peeker
  if (size < least || start + size > subject.model.length) throw new Error(`${size} bytes`)
  const wanted = subject.model.subarray(start, start + size)
  if (size > 0 && view.getUint8(offset + size - 1) !== wanted[size - 1]) throw new Error('the view is over other bytes')
  same(bytes.subarray(offset, offset + size), wanted.subarray(0, size))
  const taken = peeker.take(offset, offset + size)
  same(taken, wanted.subarray(0, size))
  if (subject.taken.length % 2 === 0) taken.fill(0xff)
  subject.taken.push({ bytes: taken, wanted: Buffer.from(taken) })
}

function same (found, wanted) {
  if (Buffer.compare(found, wanted)) throw new Error(`expected ${wanted.toString('hex')}, got ${found.toString('hex')}`)
}
