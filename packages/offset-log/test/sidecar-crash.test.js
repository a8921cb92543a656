'use strict'
// Power cuts while a log with a sidecar is written: what the sidecar says afterwards is right, whichever of its slots
// is read; no log is called damaged that is not; and all that was promised is still checked.

const zlib = require('node:zlib')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { Changes } = require('../lib/sidecar/changes')
const { CheckedReads } = require('../lib/sidecar/checked-reads')
const { createSidecar } = require('../lib/sidecar/create-sidecar')
const { BLOCK_SIZE, SLOT_AREA_SIZE, pageCountOf } = require('../lib/sidecar/layout')
const { blocksIn } = require('../lib/sidecar/overwrite')
const { parseSidecar } = require('../lib/sidecar/parse-sidecar')
const { SidecarFile } = require('../lib/sidecar/sidecar-file')
const { Sums } = require('../lib/sidecar/sums')

const FILE = '/folder/log'
const SIDECAR = `${FILE}.sidecar`
const ZERO_SUM = zlib.crc32(Buffer.alloc(BLOCK_SIZE))
const seed = Date.now() % 2 ** 31

const promise = (run) => new Promise((resolve, reject) => run((err, result) => err ? reject(err) : resolve(result)))

// A log of hundreds of megabytes that takes no room: zeros, but for the blocks that were overwritten.
class VirtualLog {
  constructor () {
    this.size = 0
    this.syncedSize = 0
    this.written = new Map()
    /** Blocks that were overwritten since the last sync, from where on: what a crash leaves of them nobody knows. */
    this.unsynced = new Map()
    this.handle = {
      read: (buf, offset, length, position, cb) => {
        setImmediate(() => cb(null, this._read(buf, offset, length, position)))
      },
      readSync: (...call) => this._read(...call),
      write: (buf, offset, length, position, cb) => {
        setImmediate(() => cb(null, this._write(buf, offset, length, position)))
      },
      truncate: (size, cb) => setImmediate(() => { this._truncate(size); cb(null) }),
      sync: (cb) => setImmediate(() => { this._sync(); cb(null) }),
      size: (cb) => setImmediate(cb, null, this.size),
      close: (cb) => setImmediate(cb, null)
    }
  }

  /** @returns {number}  the sum of a block as it is now, up to `end` */
  sumOf (index, end) {
    const size = end - index * BLOCK_SIZE
    if (size === BLOCK_SIZE && !this.written.has(index)) return ZERO_SUM
    return zlib.crc32(this._block(index).subarray(0, size))
  }

  _block (index) {
    return this.written.get(index) ?? Buffer.alloc(BLOCK_SIZE)
  }

  _read (buf, offset, length, position) {
    const count = Math.min(length, this.size - position)
    for (let at = 0; at < count;) {
      const index = Math.floor((position + at) / BLOCK_SIZE)
      const start = index * BLOCK_SIZE
      const end = Math.min(BLOCK_SIZE, position + count - start)
      at += this._block(index).copy(buf, offset + at, position + at - start, end)
    }
    return count
  }

  _write (buf, offset, length, position) {
    if (position < this.size) {
      for (let at = 0; at < length;) {
        const index = Math.floor((position + at) / BLOCK_SIZE)
        const block = this._block(index)
        const count = buf.copy(block, position + at - index * BLOCK_SIZE, offset + at, offset + length)
        this.written.set(index, block)
        this.unsynced.set(index, Math.min(position, this.unsynced.get(index) ?? Infinity))
        at += count
      }
    }
    this.size = Math.max(this.size, position + length)
    return length
  }

  _sync () {
    this.syncedSize = this.size
    this.unsynced.clear()
  }

  _truncate (size) {
    this.size = size
    this.syncedSize = Math.min(this.syncedSize, size)
    for (const index of this.written.keys()) {
      if (index * BLOCK_SIZE >= size) this.written.delete(index)
      else if ((index + 1) * BLOCK_SIZE > size) this.written.get(index).fill(0, size - index * BLOCK_SIZE)
    }
  }
}

/**
 * @param {VirtualLog} log
 * @param {{ floor: number, recent: Set<number> | null }} truth  what a sync that has called back covered; which blocks
 *   were overwritten, or announced, since the one before; null when that does not matter
 */
function checkSums (t, bytes, log, truth, where) {
  const parsed = parseSidecar(bytes)
  if (parsed === null) return t.fail(`${where}: no slot is whole`)
  const { sums, slot, lostPages } = parsed
  if (slot.end > log.syncedSize) t.fail(`${where}: ${slot.end} is covered, ${log.syncedSize} was synced`)
  if (slot.end < truth.floor) t.fail(`${where}: ${slot.end} is covered, ${truth.floor} was promised`)
  if (lostPages.size > 0) t.fail(`${where}: lost ${[...lostPages]}`)
  for (let index = 0; index < sums.blockCount; index++) {
    const end = sums.blockEnd(index)
    const isUnsynced = end > (log.unsynced.get(index) ?? Infinity)
    const mayBeUnknown = truth.recent === null || truth.recent.has(index)
    if (!sums.isKnown(index) && !mayBeUnknown) t.fail(`${where}: block ${index} is not known`)
    if (!sums.isKnown(index)) continue
    if (isUnsynced) t.fail(`${where}: block ${index} may hold anything, and is known`)
    else if (sums.at(index) !== log.sumOf(index, end)) t.fail(`${where}: the sum of block ${index} is wrong`)
  }
}

tape('create: a sidecar of a log of several pages is there whole, or not at all', async (t) => {
  const random = createRandom(seed)
  const sums = new Sums()
  const piece = Buffer.alloc(2 ** 20)
  while (sums.end < 150 * 2 ** 20 + 5) sums.extend(piece)
  const disk = new SimulatedDisk()
  disk.put(SIDECAR, Buffer.from('an older one'))
  let crashes = 0
  disk.onChange = () => {
    const bytes = disk.crash(random).read(SIDECAR)
    crashes++
    if (bytes.toString() !== 'an older one' && parseSidecar(bytes)?.slot.end !== sums.end) t.fail('neither')
  }
  await promise((cb) => createSidecar(disk.storage, FILE, SIDECAR, { size: sums.end }, sums, cb))
  t.ok(crashes > 5)
  t.deepEqual(disk.list(), [SIDECAR])
  const { slot, sums: found, lostPages, unequalPages } = parseSidecar(disk.crash(() => 0).read(SIDECAR))
  t.ok(slot.isClean && slot.end === sums.end)
  t.equal(lostPages.size + unequalPages.size, 0)
  t.ok(Array.from({ length: sums.blockCount }).every((_, index) => found.at(index) === sums.at(index)))
})

tape('create: a sidecar says of nothing that it is on stable storage that is not', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'offset32', fsync: 'never' })
  await log.append(Buffer.from('one'))
  // Its writer is killed, and somebody opens it with a sidecar.
  const next = OffsetLog(FILE, { storage: disk.storage, sidecar: true })
  await next.ready()
  t.equal(next.durable.value, 0)
  const { storage } = disk.crash(() => 0)
  const after = OffsetLog(FILE, { storage, sidecar: true })
  t.equal((await after.get(0)).toString(), 'one')
  t.equal(after.recovery, null)
  for (const each of [log, next, after]) await each.close()
})

tape(`crash: whatever is left of a sidecar is right, page after page (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  let crashes = 0
  let pages = 0
  for (let round = 0; round < 4; round++) {
    const disk = new SimulatedDisk()
    const log = new VirtualLog()
    const slot = await promise((cb) => createSidecar(disk.storage, FILE, SIDECAR, { size: 0 }, new Sums(), cb))
    const handle = await promise((cb) => disk.storage.open(SIDECAR, { flags: 'r+' }, cb))
    const reads = new CheckedReads(log.handle, FILE, new Sums(), () => 'deliver')
    const changes = new Changes(log.handle, reads, new SidecarFile(handle, SIDECAR, slot))
    const truth = { floor: 0, recent: new Set() }
    const crashNow = (where) => {
      crashes++
      const bytes = disk.crash(random).read(SIDECAR)
      checkSums(t, bytes, log, truth, `round ${round}, ${where}`)
      // As if the one slot or the other were damaged besides. What is left may cover less.
      for (const position of [0, SLOT_AREA_SIZE]) {
        const hurt = Buffer.from(bytes)
        hurt[position + 20] ^= 1
        const lost = `without the slot at ${position}`
        if (parseSidecar(hurt)) checkSums(t, hurt, log, { floor: 0, recent: null }, `round ${round}, ${where}, ${lost}`)
      }
    }
    disk.onChange = ({ name, path }) => {
      if (path === SIDECAR && (name === 'sync' || random(4) === 0)) crashNow(`before ${name}`)
    }
    for (let step = 0; step < 16; step++) {
      const kind = random(8)
      if (kind < 3 || log.size === 0) {
        const bytes = Buffer.alloc(random(2) === 0 ? random(100) : random(100 * 2 ** 20))
        await promise((cb) => changes.write(bytes, 0, bytes.length, log.size, cb))
      } else if (kind < 5) {
        const starts = Array.from({ length: 1 + random(3) }, () => random(log.size))
        const ranges = starts.map((start) => ({ start, end: Math.min(log.size, start + 1 + random(2 * BLOCK_SIZE)) }))
        for (const { start, end } of ranges) for (const index of blocksIn(start, end)) truth.recent.add(index)
        if (random(2) === 0) changes.coverage.announce(ranges)
        for (const { start, end } of ranges) {
          await promise((cb) => changes.write(Buffer.alloc(end - start, 1 + random(255)), 0, end - start, start, cb))
        }
      } else if (kind === 5) {
        const size = log.size - random(random(2) === 0 ? log.size : Math.min(log.size, 1000))
        truth.floor = Math.min(truth.floor, size)
        await promise((cb) => changes.truncate(size, cb))
      } else {
        await promise((cb) => changes.sync(cb))
        truth.floor = log.size
        truth.recent.clear()
      }
      crashNow(`step ${step}`)
    }
    await promise((cb) => changes.sync(cb))
    await promise((cb) => changes.finish(cb))
    const { slot: last } = parseSidecar(disk.crash(() => 0).read(SIDECAR))
    t.ok(last.isClean && last.end === log.size && last.changing.length === 0, 'closed')
    pages += pageCountOf(log.size)
  }
  t.comment(`${crashes} crashes, ${pages} pages`)
  t.ok(crashes > 100)
})

tape(`crash: no log is called damaged that is not, and a bit that flips in what was promised shows (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const tally = { images: 0, flips: 0 }
  for (let round = 0; round < 8; round++) {
    let disk = new SimulatedDisk()
    const fsync = ['always', 'interval', 'never'][round % 3]
    const framing = ['offset32', 'offset48', 'offset53'][random(3)]
    let truth = { promisedSize: 0, deleted: [] }
    // Each session goes on from what the crash of the one before has left.
    for (let session = 0; session < 3; session++) {
      const log = OffsetLog(FILE, { storage: disk.storage, framing, fsync, cache: 2 ** 18, sidecar: true })
      // The first append may have been cut off: then it is no log.
      if (await failureOf(() => log.ready()) || log.recovery?.damage.length > 0) break
      if (log.recovery?.flaws.length > 0) t.fail(`round ${round}: ${JSON.stringify(log.recovery.flaws)}`)
      let wanted = null
      disk.onChange = (call, index) => {
        if (random(25) === 0) wanted = disk.crash(random)
      }
      for (let step = 0; step < 5; step++) {
        const where = `round ${round}, session ${session}, step ${step}`
        const { promisedSize, deleted } = truth
        const erased = await work(log, random, truth, () => disk.read(FILE).length)
        // What was promised before, when the power goes while the work is under way.
        const before = { promisedSize, deleted: [...deleted, ...erased] }
        if (wanted) await checkImage(t, wanted, before, random, tally, `${where}, half way`)
        await checkImage(t, disk.crash(random), truth, random, tally, where)
        wanted = null
      }
      disk.onChange = null
      if (random(2) === 0) {
        await log.close()
        truth = { promisedSize: disk.read(FILE).length, deleted: [] }
      }
      disk = disk.crash(random)
    }
  }
  t.comment(`${tally.images} images, ${tally.flips} flips`)
  t.ok(tally.images > 100 && tally.flips > 50)
})

/** @returns {Promise<Array<{ start: number, end: number }>>}  what was deleted */
async function work (log, random, truth, size) {
  const kind = random(6)
  if (kind < 3 || log.since.value < 0) {
    const randomRecord = () => Buffer.alloc(1 + random(random(2) === 0 ? 200 : 60000), 1 + random(255))
    await log.append(Array.from({ length: 1 + random(4) }, randomRecord))
    if (log._file.durability.mode === 'always') truth.promisedSize = size()
  } else if (kind === 3) {
    const seqs = []
    for await (const seq of log.stream({ values: false })) if (random(3) === 0) seqs.push(seq)
    const rangeOf = async (seq) => ({ start: seq, end: seq + (await log.get(seq)).length + 4 })
    const records = await Promise.all(seqs.map(rangeOf))
    await log.del(seqs)
    truth.deleted = log._file.durability.mode === 'always' ? [] : [...truth.deleted, ...records]
    return records
  } else {
    await log.sync()
    truth.promisedSize = size()
    truth.deleted = []
  }
  return []
}

async function checkImage (t, image, truth, random, tally, where) {
  tally.images++
  const plain = await open(image.clone(), false)
  for (const [name, hurt] of [['', image], [', one slot lost', loseSlot(image, random)]]) {
    const found = await open(hurt.clone(), true)
    if (found.err && !plain.err) t.fail(`${where}${name}: ${found.err.stack}`)
    const [damage] = found.damage
    // Without a slot that says up to where it was synced, half of a record may look like damage, as ever.
    if (damage && (name === '' || plain.damage.length === 0)) t.fail(`${where}${name}: called damaged: ${JSON.stringify(damage)}`)
    if (!damage && !found.err && found.texts !== plain.texts) t.fail(`${where}${name}: reads otherwise`)
  }
  if (plain.err || truth.promisedSize === 0) return
  for (let flips = 0; flips < 2; flips++) {
    const at = random(truth.promisedSize)
    // What was being erased may be anything.
    if (truth.deleted.some(({ start, end }) => blocksIn(start, end).includes(Math.floor(at / BLOCK_SIZE)))) continue
    tally.flips++
    const flipped = image.clone()
    flipped.damage(FILE, (medium) => { medium[at] ^= 1 << random(8) })
    const found = await open(flipped, true)
    if (found.err || found.damage.length > 0) continue
    t.fail(`${where}: a bit flipped at ${at} of ${truth.promisedSize}, and nobody noticed`)
  }
}

/** @returns {Promise<{ err: Error | null, damage: object[], texts: string }>}  `err` of opening, or of reading */
async function open (disk, sidecar) {
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'offset32', cache: 2 ** 18, sidecar })
  const found = { err: null, damage: [], texts: '' }
  try {
    await log.ready()
    found.damage = log.recovery?.damage ?? []
    for await (const { seq, value } of log.stream()) found.texts += `${seq} ${value.length} ${zlib.crc32(value)}\n`
  } catch (err) {
    if (typeof err.code !== 'string') throw err
    found.err = err
  }
  await log.close().catch(() => {})
  return found
}

function loseSlot (image, random) {
  const hurt = image.clone()
  if (hurt.list().includes(SIDECAR)) hurt.damage(SIDECAR, (medium) => { medium[random(2) * SLOT_AREA_SIZE + 30] ^= 1 })
  return hurt
}
