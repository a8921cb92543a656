'use strict'
// Logs of the legacy framings, to be hurt; what is in them is read by a decoder written from docs/internals/format.md
// alone.

const { SimulatedDisk, createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { compare } = require('./checked-model')

const FILE = '/folder/log'
const END_SIZES = { offset32: 4, offset48: 6, offset53: 8 }

/**
 * @param {string} framing
 * @param {number[]} sizes
 * @param {number[]} erased  indexes of records
 */
async function makeOffsetImage (framing, sizes, erased) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const random = createRandom(sizes.length)
  const log = OffsetLog(FILE, { storage: disk.storage, framing, fsync: 'never' })
  const seqs = []
  const earlier = []
  for (const size of sizes) {
    seqs.push(await log.append(Buffer.from(Array.from({ length: size }, () => 1 + random(255)))))
    if (seqs.length % 9 === 0) earlier.push(disk.read(FILE))
  }
  await log.del(erased.map((index) => seqs[index]))
  await log.close()
  const bytes = disk.read(FILE)
  const frames = decodeFrames(bytes, framing)
  return {
    name: `${framing}, ${sizes.length} records`,
    bytes,
    earlier,
    promisedEnd: 0,
    slotEnd: 0,
    starts: frames.map(({ start }) => start),
    structure: frames.flatMap(({ start, end }) => [start, end]),
    expect: (hurt) => expect(bytes, frames, hurt),
    read: (out) => {
      const found = decodeFrames(out, framing).filter(({ isErased }) => !isErased)
      return new Map(found.map(({ start, data }) => [start, data]))
    },
    areSlotsWhole: () => false,
    // Nothing in these framings shows that data is not what it was, or that bytes which were moved are no frame if
    // both sizes and the end agree where they are now.
    mayDiffer: (seq, hurt) => isWholeFrame(hurt, seq, framing) || frames.some(({ start, end, data }) => {
      return start === seq && end <= hurt.length && compare(bytes, hurt).isHit(seq + 4, seq + 4 + data.length)
    }),
    isHopeless: (hurt) => frames.every(({ start, end }) => compare(bytes, hurt).isHit(start, end)),
    // Garbled bytes may make the first frame a whole one of a narrower framing: nothing else says which one it is.
    isMistaken: (hurt, report) => report.framing !== framing && isWholeFrame(hurt, 0, report.framing),
    isUnseen: (at, hurt) => {
      return frames.some(({ start, data }) => at >= start + 4 && at < start + 4 + data.length) ||
        isInWholeFrame(hurt, at, framing)
    }
  }
}

/** Whether a frame could begin there, by docs/internals/format.md alone. */
function isWholeFrame (bytes, start, framing) {
  const endSize = END_SIZES[framing]
  if (start + 8 + endSize > bytes.length) return false
  const size = bytes.readUInt32BE(start)
  const end = start + 8 + size + endSize
  if (end > bytes.length || bytes.readUInt32BE(start + 4 + size) !== size) return false
  return BigInt(`0x${bytes.subarray(end - endSize, end).toString('hex')}`) === BigInt(end)
}

function isInWholeFrame (bytes, at, framing) {
  for (let start = at; start >= 0; start--) {
    if (isWholeFrame(bytes, start, framing)) return start + 8 + bytes.readUInt32BE(start) + END_SIZES[framing] > at
  }
  return false
}

/** Throws at anything that is not as the page has it. */
function decodeFrames (bytes, framing) {
  const endSize = END_SIZES[framing]
  const frames = []
  for (let start = 0; start < bytes.length;) {
    const size = bytes.readUInt32BE(start)
    const data = bytes.subarray(start + 4, start + 4 + size)
    const end = start + 8 + size + endSize
    const field = bytes.subarray(end - endSize, end)
    const isRight = bytes.readUInt32BE(start + 4 + size) === size && BigInt(`0x${field.toString('hex')}`) === BigInt(end)
    if (!isRight) throw new Error(`by docs/internals/format.md: the frame at ${start}`)
    frames.push({ start, end, data, isErased: data.every((byte) => byte === 0) })
    start = end
  }
  return frames
}

function expect (bytes, frames, hurt) {
  const { isHit } = compare(bytes, hurt)
  const must = new Set()
  const may = new Map()
  for (const { start, end, data, isErased } of frames) {
    if (isErased) continue
    may.set(start, data)
    if (!isHit(start, end) || isOneBitOfFields(bytes, hurt, start, end, data)) must.add(start)
  }
  return { must, may }
}

/** Whether one bit of a size or an end is all that is different in and around the frame. */
function isOneBitOfFields (bytes, hurt, start, end, { length }) {
  if (hurt.length < end) return false
  let bits = 0
  for (let at = Math.max(0, start - 20); at < Math.min(bytes.length, end + 20); at++) {
    const difference = bytes[at] ^ hurt[at]
    if (difference === 0) continue
    const isField = (at >= start && at < start + 4) || (at >= start + 4 + length && at < end)
    if (!isField) return false
    bits += difference.toString(2).replaceAll('0', '').length
  }
  // What comes next must say where this one ends.
  return bits === 1 && (end === bytes.length || bytes.subarray(end).equals(hurt.subarray(end)))
}

async function makeOffsetImages () {
  const small = Array.from({ length: 60 }, (_, index) => 1 + index * 37 % 300)
  const images = []
  for (const framing of Object.keys(END_SIZES)) {
    images.push(await makeOffsetImage(framing, small, [3, 4, 20]))
    images.push(await makeOffsetImage(framing, [100, 40000, 7, 300000, 20, 1000, 1], [4]))
    images.push(await makeOffsetImage(framing, [10], []))
  }
  return images
}

exports.makeOffsetImages = makeOffsetImages
