'use strict'
// Segments that cannot be opened: every kind of broken file, at every place in the folder, for every way of reading.
// Each read fails with ERR_LOG_CORRUPT, or goes past it and says how much was lost.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { failureOf, newPath, until } = require('@millrace/testkit')
const { SegmentedLog, findMissingSegments } = require('..')

/** What may become of a file. */
const KINDS = {
  'no bytes': (file) => fs.truncateSync(file, 0),
  zeros: (file) => fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size)),
  'no head': (file) => {
    const bytes = fs.readFileSync(file)
    fs.writeFileSync(file, bytes.fill(0, 0, 32 * 1024))
  },
  'a text': (file) => fs.writeFileSync(file, 'this is no log\n'.repeat(100)),
  'cut off in its head': (file) => fs.truncateSync(file, 1000),
  'a folder': (file) => {
    fs.rmSync(file)
    fs.mkdirSync(file)
  },
  'a log of flumelog-offset': async (file) => {
    fs.rmSync(file)
    const log = OffsetLog(file, { framing: 'offset32', codec: jsonCodec })
    await log.append({ n: 'foreign' })
    await log.close()
  },
  gone: (file) => fs.rmSync(file)
}

const SEGMENT_COUNT = 5
const PER_SEGMENT = 3
const NEWEST = SEGMENT_COUNT - 1

async function collect (source, items = []) {
  for await (const item of source) items.push(item)
  return items
}

/** A folder of segments with a few records each; the newest has some, too. */
async function fill (folder) {
  const log = SegmentedLog(folder, { codec: jsonCodec })
  const seqs = []
  for (let n = 0; n < SEGMENT_COUNT * PER_SEGMENT; n++) {
    if (n > 0 && n % PER_SEGMENT === 0) await log.roll()
    seqs.push(await log.append({ n, text: 'x'.repeat(1000) }))
  }
  const segments = await log.segments()
  await log.close()
  return { seqs, files: segments.map(({ path }) => path) }
}

/** The numbers of the records in a segment. @param {number} place */
function numbersIn (place) {
  return Array.from({ length: PER_SEGMENT }, (_, index) => place * PER_SEGMENT + index)
}

for (const [kind, damage] of Object.entries(KINDS)) {
  for (const [place, flags] of [[0, 'r+'], [0, 'r'], [2, 'r+'], [2, 'r'], [3, 'r+'], [3, 'r'], [NEWEST, 'r']]) {
    // Nothing tells that the first segment was not dropped, or that there was another one behind the last.
    if (kind === 'gone' && [0, NEWEST].includes(place)) continue
    tape(`broken: segment ${place} is or has ${kind}, opened with ${flags}`, async (t) => {
      const folder = newPath('logs')
      const { seqs, files } = await fill(folder)
      await damage(files[place])
      const before = kind === 'gone' || kind === 'a folder' ? null : fs.readFileSync(files[place])
      const log = SegmentedLog(folder, { codec: jsonCodec, flags })
      const gone = numbersIn(place)
      const all = seqs.map((_, n) => n)
      const left = all.filter((n) => !gone.includes(n))
      const isCorrupt = (err, what) => t.equal(err?.code, 'ERR_LOG_CORRUPT', `${what}: ${err?.message}`)

      for (const [name, options, good] of [
        ['stream', {}, all.slice(0, gone[0])],
        ['live', { live: true, limit: all.length }, all.slice(0, gone[0])],
        ['reverse', { reverse: true }, all.slice(gone[gone.length - 1] + 1).reverse()]
      ]) {
        const items = []
        isCorrupt(await failureOf(() => collect(log.stream({ seqs: false, ...options }), items)), name)
        t.deepEqual(items.map(({ n }) => n), good, `${name}: all in front of it`)
        const stream = log.stream({ seqs: false, onCorrupt: 'skip', ...options, ...(options.live && { limit: left.length }) })
        const found = (await collect(stream)).map(({ n }) => n)
        t.deepEqual(found, options.reverse ? [...left].reverse() : left, `${name}: all others`)
        // A limit ends the live stream in front of the newest segment.
        const isBefore = options.live && place === NEWEST
        t.ok(isBefore || (stream.lost.count === 1 && stream.lost.size > 0), `${name}: lost ${JSON.stringify(stream.lost)}`)
      }
      isCorrupt(await failureOf(() => log.scan({}, () => {})), 'scan')
      const { lost } = await log.scan({ onCorrupt: 'skip' }, () => {})
      t.ok(lost.count === 1 && lost.size > 0, `scan: lost ${JSON.stringify(lost)}`)
      isCorrupt(await failureOf(() => log.count()), 'count')
      t.equal(await log.count({ onCorrupt: 'skip' }), left.length)
      for (const n of all) {
        if (gone.includes(n)) isCorrupt(await failureOf(() => log.get(seqs[n])), `get ${n}`)
        else t.equal((await log.get(seqs[n])).n, n)
      }
      isCorrupt(await failureOf(() => log.getMany(seqs)), 'getMany')
      t.deepEqual((await log.getMany(left.map((n) => seqs[n]))).map(({ n }) => n), left)
      isCorrupt(await failureOf(() => log.first({ gte: seqs[gone[0]] })), 'first')
      const next = place === NEWEST ? undefined : gone[gone.length - 1] + 1
      t.equal((await log.first({ gte: seqs[gone[0]], seqs: false, onCorrupt: 'skip' }))?.n, next)
      isCorrupt(await failureOf(() => log.last({ lte: seqs[gone[2]] })), 'last')
      t.equal((await log.last({ lte: seqs[gone[2]], seqs: false, onCorrupt: 'skip' }))?.n, place === 0 ? undefined : gone[0] - 1)
      t.equal((await findMissingSegments(folder)).length, kind === 'gone' ? 1 : 0)
      if (flags === 'r+') {
        isCorrupt(await failureOf(() => log.del(seqs[gone[0]])), 'del')
        await log.del(seqs[left[0]])
        await log.append({ n: 'later' })
        await log.roll()
        await log.append({ n: 'later still' })
        await log.sync()
        t.equal(await log.count({ onCorrupt: 'skip' }), left.length + 1)
      }
      await log.close()
      if (before !== null) t.ok(fs.readFileSync(files[place]).equals(before), 'the file was not changed')
    })
  }
}

for (const [kind, damage] of Object.entries(KINDS)) {
  // Nothing tells that there was another one.
  if (kind === 'gone') continue
  tape(`broken: the newest segment is or has ${kind}: another one begins behind it`, async (t) => {
    const folder = newPath('logs')
    const { seqs, files } = await fill(folder)
    const place = SEGMENT_COUNT - 1
    await damage(files[place])
    const before = kind === 'a folder' ? null : fs.readFileSync(files[place])
    const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
    await reader.ready()
    t.ok(reader.recovery.damage.length > 0, 'opening for reading says so')
    t.equal((await reader.segments()).length, SEGMENT_COUNT, 'there is no file behind it')
    t.equal((await reader.stats()).segmentCount, SEGMENT_COUNT)
    t.equal((await reader.stats()).codec, 'json')
    // These wait where the writer will make another segment.
    const all = Array.from({ length: NEWEST * PER_SEGMENT }, (_, n) => n)
    const following = reader.stream({ live: true, seqs: false, onCorrupt: 'skip', limit: all.length + 2 })
    const young = reader.stream({ old: false, seqs: false, limit: 2 })
    const [followed, later] = [following, young].map((source) => collect(source))
    const failed = failureOf(() => collect(reader.stream({ live: true })))
    t.equal((await failed)?.code, 'ERR_LOG_CORRUPT')
    for (let session = 0; session < 2; session++) {
      const log = SegmentedLog(folder, { codec: jsonCodec })
      await log.ready()
      if (session === 0) t.ok(log.recovery.damage.length > 0, 'opening says so')
      t.equal((await log.segments()).length, SEGMENT_COUNT + 1)
      const seq = await log.append({ n: 'later' })
      t.ok(seq > seqs[seqs.length - 1], 'no seq is given twice')
      t.equal((await failureOf(() => collect(log.stream())))?.code, 'ERR_LOG_CORRUPT')
      const stream = log.stream({ onCorrupt: 'skip', seqs: false })
      const found = (await collect(stream)).map(({ n }) => n)
      t.deepEqual(found.filter((n) => n !== 'later'), numbersIn(0).concat(numbersIn(1), numbersIn(2), numbersIn(3)))
      t.equal(stream.lost.count, 1)
      for (const n of numbersIn(place)) t.equal((await failureOf(() => log.get(seqs[n])))?.code, 'ERR_LOG_CORRUPT')
      await log.close()
    }
    t.deepEqual((await later).map(({ n }) => n), ['later', 'later'], 'a stream of later records has them')
    t.deepEqual((await followed).map(({ n }) => n), [...all, 'later', 'later'], 'a live stream goes past it')
    t.equal(following.lost.count, 1)
    t.equal((await reader.segments()).length, SEGMENT_COUNT + 1)
    t.equal(await reader.count({ onCorrupt: 'skip' }), all.length + 2)
    t.equal((await failureOf(() => reader.get(seqs[place * PER_SEGMENT])))?.code, 'ERR_LOG_CORRUPT')
    await reader.close()
    if (before !== null) t.ok(fs.readFileSync(files[place]).equals(before), 'the file was not changed')
  })
}

tape('broken: a segment that begins while a reader follows is broken, and so is the next one', async (t) => {
  for (const count of [1, 2]) {
    const folder = newPath('logs')
    const aside = newPath('logs')
    const { files } = await fill(folder)
    fs.cpSync(folder, aside, { recursive: true })
    const hidden = files.slice(-count - 1)
    for (const file of hidden) fs.rmSync(file)
    const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
    const first = SEGMENT_COUNT - count - 1
    t.equal(await reader.count(), first * PER_SEGMENT)
    const limit = (SEGMENT_COUNT - count) * PER_SEGMENT
    const stream = reader.stream({ live: true, seqs: false, onCorrupt: 'skip', limit })
    const followed = collect(stream)
    // They are broken before the reader sees them.
    for (const file of hidden.slice(0, count)) fs.writeFileSync(file, '')
    await until(() => reader.stats().then(({ segmentCount }) => segmentCount === first + count))
    const whole = hidden.at(-1)
    fs.renameSync(path.join(aside, path.basename(whole)), whole)
    const numbers = (await followed).map(({ n }) => n)
    const places = [...Array(first).keys(), SEGMENT_COUNT - 1]
    t.deepEqual(numbers, places.flatMap(numbersIn))
    t.equal(stream.lost.count, count)
    await reader.close()
  }
})

tape('broken: segments that overlap are found when the log opens, wherever they are', async (t) => {
  for (const place of [0, 2, NEWEST]) {
    for (const distance of [0, 1, 40_000, 2 ** 26]) {
      const folder = newPath('logs')
      const { files } = await fill(folder)
      const bases = files.map((file) => Number(path.basename(file).slice(0, 16)))
      // A copy from somewhere else, with seqs that the segment before it has, too.
      const name = `${String(bases[place] + distance).padStart(16, '0')}-20990101T000000000Z.log`
      fs.copyFileSync(files[place], path.join(folder, name))
      for (const flags of ['r', 'r+']) {
        const err = await failureOf(() => SegmentedLog(folder, { codec: jsonCodec, flags }).ready())
        t.equal(err?.code, 'ERR_LOG_CORRUPT', `segment ${place}, ${distance} behind, ${flags}: ${err?.message}`)
        t.ok(err?.message.includes(name) && err.message.includes(path.basename(files[place])), 'both are named')
      }
      const skipping = SegmentedLog(folder, { codec: jsonCodec, flags: 'r', onCorrupt: 'skip' })
      t.ok(await skipping.count() >= SEGMENT_COUNT * PER_SEGMENT, 'what is there can be read')
      await skipping.close()
      fs.rmSync(path.join(folder, name))
      const log = SegmentedLog(folder, { codec: jsonCodec })
      t.equal(await log.count(), SEGMENT_COUNT * PER_SEGMENT)
      await log.close()
    }
  }
})

tape('broken: the last sealed segment, in front of one without records', async (t) => {
  const folder = newPath('logs')
  const { files } = await fill(folder)
  const log = SegmentedLog(folder, { codec: jsonCodec })
  await log.roll()
  await log.close()
  fs.truncateSync(files[SEGMENT_COUNT - 1], 0)
  for (const flags of ['r', 'r+']) {
    const again = SegmentedLog(folder, { codec: jsonCodec, flags })
    t.equal(await again.count({ onCorrupt: 'skip' }), (SEGMENT_COUNT - 1) * PER_SEGMENT)
    t.equal((await failureOf(() => again.count()))?.code, 'ERR_LOG_CORRUPT')
    await again.close()
  }
})
