'use strict'
// Hurts healthy logs in every way and judges what `verify` and `repair` make of each: every good record comes back with
// its seq and its bytes, no other ever does, all damage is reported, and the new log is whole in every respect.

const { SimulatedDisk, createRandom, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('../..')
const { kinds, flipOf } = require('./injuries')

const FILE = '/folder/log'
const OUT = '/folder/out'
// Those that wait for bytes to change, wait together.
const CONCURRENCY = 40

/**
 * @param {object} options
 * @param {any[]} options.images
 * @param {number} [options.seed]
 * @param {number} [options.samples]  how many injuries of each kind, in each image; below 1 for only some of these
 * @param {boolean} [options.everyByte]  flip a bit of each byte instead
 * @param {Array<{ image: any, kind: string, injury: any }>} [options.injuries]  these instead
 * @param {{ index: number, count: number }} [options.share]  only every so many
 * @param {(tally: any) => void} [options.onProgress]
 */
async function checkSalvage (options) {
  const { images, seed = 1, samples = 10, everyByte = false, injuries, onProgress } = options
  const { share = { index: 0, count: 1 } } = options
  const tally = { cases: 0, refused: 0, recovered: 0, mended: 0, lost: 0, faults: [] }
  const pending = new Set()
  // Whatever does not call back would end the process without a word.
  const tell = () => console.log(`never called back: ${[...pending].join(', ')}`)
  process.once('exit', tell)
  const random = createRandom(seed)
  const cases = injuries?.values() ?? (everyByte ? everyFlip(images, random) : someOfEach(images, samples, random))
  let number = 0
  const work = async () => {
    for (const { image, kind, injury } of cases) {
      if (number++ % share.count !== share.index) continue
      const label = `${image.name}: ${kind}: ${injury.label}`
      pending.add(label)
      const fault = await judge(image, injury, tally).catch((err) => err.stack)
      pending.delete(label)
      tally.cases++
      if (fault) tally.faults.push(`${label}: ${fault}`)
      if (tally.cases % 1000 === 0) onProgress?.(tally)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  process.off('exit', tell)
  return tally
}

function * someOfEach (images, samples, random) {
  for (const image of images) {
    for (const [kind, make] of Object.entries(kinds)) {
      const count = samples < 1 ? Number(random(1000) < 1000 * samples) : samples
      for (let sample = 0; sample < count; sample++) {
        const injury = make(image, random)
        if (injury) yield { image, kind, injury }
      }
    }
  }
}

function * everyFlip (images, random) {
  for (const image of images) {
    for (let offset = 0; offset < image.bytes.length; offset++) {
      yield { image, kind: 'every byte', injury: flipOf(image.bytes, offset, random(8)) }
    }
  }
}

/** @returns {Promise<string | null>}  what is wrong */
async function judge (image, { bytes, isOld = false, isMoved = false }, tally) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const { storage } = disk
  disk.put(FILE, bytes)
  const err = await failureOf(() => repair(FILE, OUT, { write: true, storage }))
  if (!disk.read(FILE).equals(bytes)) return 'the source was changed'
  if (err) return judgeRefusal(image, bytes, disk, err, tally)
  if (disk.list().join() !== `${FILE},${OUT}`) return `there are other files: ${disk.list()}`
  const dry = await repair(FILE, '/folder/dry', { storage })
  if (disk.list().length > 2) return 'a dry run writes'
  const report = await verify(FILE, { storage })
  for (const [name, value] of Object.entries(report)) {
    if (JSON.stringify(value) !== JSON.stringify(dry[name])) return `verify and repair differ in ${name}`
  }
  if (image.isMistaken?.(bytes, report)) return null
  tally.recovered += dry.recovered
  tally.mended += dry.recoveredFromDamage
  tally.lost += dry.lostCount
  return checkReport(image, bytes, report, { isMoved, isOld }) ?? await checkOutput(image, bytes, disk, dry, isOld)
}

function judgeRefusal (image, bytes, disk, err, tally) {
  tally.refused++
  if (!['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT'].includes(err.code)) return err.stack
  if (disk.list().join() !== FILE) return `it was refused, and there are other files: ${disk.list()}`
  if (!image.isHopeless(bytes)) return `it was refused: ${err.stack}`
  return null
}

/** Whether all that is different is in some range that is reported. */
function checkReport (image, bytes, report, { isMoved, isOld }) {
  const { damage, flaws, tail, end, unanchored, unanchoredCount } = report
  if (unanchoredCount !== unanchored.length) return 'some chunks that nothing dates are not listed'
  if (report.damageCount !== damage.length) return 'some damage is not listed'
  const ranges = [...damage, ...flaws, ...(tail ? [tail] : [])]
  if (ranges.some(({ offset, size }) => !(offset >= 0 && size > 0))) return `an empty range: ${JSON.stringify(ranges)}`
  if (damage.some(({ offset }, index) => index > 0 && offset < damage[index - 1].offset)) return 'not in order'
  // What a disk brings back may be such that nothing contradicts it.
  if (isOld) ranges.push(...unanchored)
  const isCovered = (at) => at >= end || ranges.some(({ offset, size }) => at >= offset && at < offset + size)
  for (const at of differences(bytes, image.bytes)) {
    if (isCovered(at) || image.isUnseen(at, bytes, report, isMoved)) continue
    return `byte ${at} is different, and that is not reported: ${JSON.stringify(report)}`
  }
  if (bytes.length < image.slotEnd && image.areSlotsWhole(bytes) && report.isSound) return 'it was cut, and that is not reported'
  if (bytes.equals(image.bytes) && !report.isSound) return 'nothing is wrong with it'
  return null
}

/** Where two files differ, as far as both go. */
function * differences (a, b) {
  const size = Math.min(a.length, b.length)
  for (let start = 0; start < size; start += 512) {
    const end = Math.min(size, start + 512)
    if (a.compare(b, start, end, start, end) === 0) continue
    for (let at = start; at < end; at++) if (a[at] !== b[at]) yield at
  }
}

async function checkOutput (image, bytes, disk, report, isOld) {
  const out = disk.read(OUT)
  const records = image.read(out)
  const { must, may } = image.expect(bytes)
  if (records.size !== report.recovered) return `${records.size} records, but ${report.recovered} recovered`
  for (const [seq, data] of records) {
    const right = may.get(seq)
    if (right?.equals(data) || image.mayDiffer(seq, bytes)) continue
    if (isOld && isOfThePast(image, seq, data)) continue
    return right ? `the record at ${seq} has wrong bytes` : `there is no record at ${seq}`
  }
  for (const seq of must) {
    if (!records.has(seq)) return `the record at ${seq} is good, and lost: ${JSON.stringify(report)}`
  }
  return await checkLog(disk, records)
}

/** Whether the log ever had that record. */
function isOfThePast ({ appended }, seq, data) {
  return appended?.get(seq)?.some((old) => old.equals(data)) ?? false
}

/** @param {Buffer} bytes */
function asItIs (bytes) {
  return bytes
}

/** The new log opens clean, reads the same every way, and goes on. */
async function checkLog (disk, records) {
  const { storage } = disk
  // Some images name a codec that is none of ours.
  const codec = { buffer: true, encode: asItIs, decode: asItIs }
  const log = OffsetLog(OUT, { codec, storage, fsync: 'never', cache: 2 ** 20 })
  await log.ready()
  if (log.recovery) return `the new log is not clean: ${JSON.stringify(log.recovery)}`
  const expected = [...records.keys()]
  if (log.since.value !== (expected.at(-1) ?? -1)) return `since is ${log.since.value}`
  for (const reverse of [false, true]) {
    const seqs = []
    let fault = null
    await log.scan({ reverse }, ({ buffer, count, seqs: found, starts, ends }) => {
      for (let index = 0; index < count; index++) {
        seqs.push(found[index])
        if (!records.get(found[index])?.equals(buffer.subarray(starts[index], ends[index]))) fault = `a scan gets ${found[index]} wrong`
      }
    })
    if (fault) return fault
    if (reverse) seqs.reverse()
    if (seqs.join() !== expected.join()) return `reverse ${reverse}: a scan gets ${seqs}, not ${expected}`
  }
  for (const [seq, data] of records) if (!data.equals(await log.get(seq))) return `get ${seq}`
  const seq = await log.append(Buffer.from('it goes on'))
  if (expected.length > 0 && seq <= expected.at(-1)) return 'what is appended does not come last'
  if ((await log.get(seq)).toString() !== 'it goes on') return 'what is appended cannot be read'
  await log.close()
  const after = await verify(OUT, { storage })
  if (!after.isSound || after.records !== expected.length + 1) return `what goes on is not sound: ${JSON.stringify(after)}`
  return null
}

exports.checkSalvage = checkSalvage
