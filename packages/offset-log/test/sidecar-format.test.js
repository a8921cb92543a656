'use strict'
// The bytes of a sidecar, and the sums that are kept in memory, beside slow ways to get the same.

const zlib = require('node:zlib')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { blocksOf, toRanges } = require('../lib/sidecar/block-ranges')
const {
  BLOCK_SIZE, PAGE_SIZE, RANGE_COUNT_MAX, SLOT_AREA_SIZE, SUMS_PER_PAGE, pageCountOf, pagePosition, slotPosition
} = require('../lib/sidecar/layout')
const { Overwrite } = require('../lib/sidecar/overwrite')
const { parseSidecar } = require('../lib/sidecar/parse-sidecar')
const { decodeSlot, encodeSlot } = require('../lib/sidecar/slot')
const { Sums } = require('../lib/sidecar/sums')
const { decodePage, encodePage } = require('../lib/sidecar/sums-page')

const seed = Date.now() % 2 ** 31

function randomSlot (random, fields = {}) {
  const blockCount = random(4) === 0 ? random(3 * SUMS_PER_PAGE) : random(40)
  const end = blockCount * BLOCK_SIZE + random(BLOCK_SIZE)
  return {
    sequence: random(2 ** 31),
    salt: random(2 ** 31),
    isClean: random(2) === 0,
    end,
    tailSum: random(2 ** 31),
    writtenMs: Date.now(),
    inode: 2n ** 64n - 1n - BigInt(random(1000)),
    modifiedNs: 10n ** 18n + BigInt(random(2 ** 31)),
    sums: Array.from({ length: blockCount % SUMS_PER_PAGE }, () => random(2 ** 31)),
    changing: Array.from({ length: random(2) * random(RANGE_COUNT_MAX + 1) }, (_, index) => {
      return { first: 3 * index, count: 1 + random(2) }
    }),
    ...fields
  }
}

/** A slot in the area that it is read from. */
function areaOf (slot) {
  const area = Buffer.alloc(SLOT_AREA_SIZE)
  encodeSlot(slot).copy(area)
  return area
}

tape(`slot: what goes in comes out again (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 300; round++) {
    const slot = randomSlot(random)
    const found = decodeSlot(areaOf(slot))
    if (JSON.stringify(found, toText) !== JSON.stringify(slot, toText)) t.deepEqual(found, slot)
  }
  const fullest = randomSlot(random, {
    end: (SUMS_PER_PAGE - 1) * BLOCK_SIZE,
    sums: new Array(SUMS_PER_PAGE - 1).fill(1),
    changing: Array.from({ length: RANGE_COUNT_MAX }, (_, index) => ({ first: 2 * index, count: 1 }))
  })
  t.ok(encodeSlot(fullest).length <= SLOT_AREA_SIZE, 'the fullest one fits')
  t.deepEqual(decodeSlot(areaOf(fullest)), fullest)
  t.end()
})

const toText = (key, value) => typeof value === 'bigint' ? String(value) : value

tape('slot: no bit of it can flip', (t) => {
  const fields = { end: 5 * BLOCK_SIZE + 7, sums: [1, 2, 3, 4, 5], changing: [{ first: 2, count: 1 }] }
  const slot = randomSlot(createRandom(1), fields)
  const area = areaOf(slot)
  const size = 64 + 5 * 4 + 10
  for (let bit = 0; bit < 8 * size; bit++) {
    area[bit >> 3] ^= 1 << (bit & 7)
    if (decodeSlot(area) !== null) t.fail(`bit ${bit}`)
    area[bit >> 3] ^= 1 << (bit & 7)
  }
  t.ok(decodeSlot(area))
  t.equal(decodeSlot(area.subarray(0, SLOT_AREA_SIZE - 1)), null, 'cut off')
  t.equal(decodeSlot(Buffer.alloc(SLOT_AREA_SIZE)), null, 'zeros')
  t.end()
})

tape('slot: none that leaves no room for the numbers of the next ones', (t) => {
  const random = createRandom(1)
  t.ok(decodeSlot(areaOf(randomSlot(random, { sequence: 2 ** 47 - 1 }))))
  t.equal(decodeSlot(areaOf(randomSlot(random, { sequence: 2 ** 47 }))), null)
  t.end()
})

tape('page: what goes in comes out again; another place, another sidecar or a flipped bit shows', (t) => {
  const random = createRandom(2)
  const sums = Uint32Array.from({ length: SUMS_PER_PAGE }, () => random(2 ** 31))
  const bytes = encodePage({ index: 3, sequence: 77, sums }, 5)
  t.equal(bytes.length, PAGE_SIZE)
  t.deepEqual(decodePage(bytes, 3, 5), { index: 3, sequence: 77, sums })
  t.equal(decodePage(bytes, 4, 5), null)
  t.equal(decodePage(bytes, 3, 6), null)
  for (let bit = 0; bit < 8 * PAGE_SIZE; bit++) {
    bytes[bit >> 3] ^= 1 << (bit & 7)
    if (decodePage(bytes, 3, 5) !== null) t.fail(`bit ${bit}`)
    bytes[bit >> 3] ^= 1 << (bit & 7)
  }
  t.end()
})

tape(`ranges: all blocks are in them, and no more ranges than allowed (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 500; round++) {
    const blocks = [...new Set(Array.from({ length: random(40) }, () => random(100)))]
    const countMax = 1 + random(12)
    const ranges = toRanges(blocks, countMax)
    const found = [...blocksOf(ranges)]
    if (ranges.length > countMax) t.fail(`${ranges.length} of ${countMax}`)
    if (blocks.some((block) => !found.includes(block))) t.fail(`${blocks} became ${JSON.stringify(ranges)}`)
    if (found.some((block, index) => index > 0 && found[index - 1] >= block)) t.fail('not in order')
    const exact = [...blocksOf(toRanges(blocks, Infinity))]
    if (exact.join() !== blocks.sort((a, b) => a - b).join()) t.fail('others are in them')
  }
  t.deepEqual(toRanges([1, 2, 9, 10, 30], 2), [{ first: 1, count: 10 }, { first: 30, count: 1 }], 'the nearest are merged')
  t.end()
})

/** What a file of these bytes would have. */
function sumsOf (bytes) {
  const sums = []
  for (let start = 0; start < bytes.length; start += BLOCK_SIZE) {
    sums.push(zlib.crc32(bytes.subarray(start, Math.min(bytes.length, start + BLOCK_SIZE))))
  }
  return sums
}

tape(`sums: after appends, cuts and overwrites they are those of the bytes (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const randomBytes = (size) => {
    const words = Uint32Array.from({ length: Math.ceil(size / 4) }, () => random(2 ** 31))
    return Buffer.from(words.buffer, 0, size)
  }
  for (let round = 0; round < 6; round++) {
    const sums = new Sums()
    let bytes = Buffer.alloc(0)
    for (let step = 0; step < 25; step++) {
      const kind = random(4)
      if (kind < 2 || bytes.length === 0) {
        const more = randomBytes(random(random(2) === 0 ? 300 : 3 * BLOCK_SIZE))
        sums.extend(more)
        bytes = Buffer.concat([bytes, more])
      } else if (kind === 2) {
        const end = random(bytes.length)
        bytes = Buffer.from(bytes.subarray(0, end))
        sums.cut(end, zlib.crc32(bytes.subarray(Math.floor(end / BLOCK_SIZE) * BLOCK_SIZE)))
      } else {
        const start = random(bytes.length)
        const patch = randomBytes(1 + random(Math.min(bytes.length - start, 2.5 * BLOCK_SIZE)))
        const overwrite = new Overwrite(sums, patch, start)
        for (const index of overwrite.edges) {
          overwrite.loaded.set(index, Buffer.from(bytes.subarray(index * BLOCK_SIZE, (index + 1) * BLOCK_SIZE)))
        }
        patch.copy(bytes, start)
        overwrite.settle(new Map())
      }
      const found = Array.from({ length: sums.blockCount }, (_, index) => sums.at(index))
      if (sums.end !== bytes.length || found.join() !== sumsOf(bytes).join()) t.fail(`round ${round}, step ${step}`)
    }
  }
  t.end()
})

tape('overwrite: a block that was left half written has a sum again only when it has its bytes again', (t) => {
  const bytes = Buffer.alloc(2 * BLOCK_SIZE, 1)
  const sums = new Sums()
  sums.extend(bytes)
  const before = sums.at(0)
  const doubtful = new Map()
  const overwriteWith = (patch) => {
    const overwrite = new Overwrite(sums, patch, 10)
    overwrite.loaded.set(0, Buffer.from(bytes.subarray(0, BLOCK_SIZE)))
    return overwrite
  }
  overwriteWith(Buffer.alloc(5)).fail(doubtful)
  t.notOk(sums.isKnown(0))
  bytes.fill(0, 10, 12)
  overwriteWith(Buffer.alloc(5, 7)).settle(doubtful)
  t.notOk(sums.isKnown(0), 'something else was written')
  overwriteWith(Buffer.alloc(5, 1)).settle(doubtful)
  t.ok(sums.isKnown(0), 'the old bytes were put back')
  t.equal(sums.at(0), before)
  t.equal(doubtful.size, 0)
  t.end()
})

/** A whole sidecar of so many blocks, the sum of each of which is its number and the sequence. */
function makeSidecar ({ sequence, blockCount, changing = [] }) {
  const end = blockCount * BLOCK_SIZE
  const pageCount = pageCountOf(end)
  const bytes = Buffer.alloc(pagePosition(pageCount, 0))
  const sumsFrom = (first, count) => Array.from({ length: count }, (_, index) => first + index + sequence)
  const fields = { salt: 9, end, changing, sums: sumsFrom(pageCount * SUMS_PER_PAGE, blockCount % SUMS_PER_PAGE) }
  for (const each of [sequence - 1, sequence]) {
    encodeSlot(randomSlot(createRandom(1), { ...fields, sequence: each })).copy(bytes, slotPosition(each))
  }
  for (let index = 0; index < pageCount; index++) {
    const page = encodePage({ index, sequence, sums: sumsFrom(index * SUMS_PER_PAGE, SUMS_PER_PAGE) }, 9)
    for (const copy of [0, 1]) page.copy(bytes, pagePosition(index, copy))
  }
  return bytes
}

tape('parse: the newer slot and the newer copy of a page count, and one of each is enough', (t) => {
  const blockCount = 2 * SUMS_PER_PAGE + 3
  const bytes = makeSidecar({ sequence: 6, blockCount })
  const whole = parseSidecar(bytes)
  t.equal(whole.slot.sequence, 6)
  t.notOk(whole.hasLostSlot)
  const sums = Array.from({ length: blockCount }, (_, index) => whole.sums.at(index))
  t.deepEqual(sums, Array.from({ length: blockCount }, (_, index) => index + 6))
  const without = (start, size) => {
    const hurt = Buffer.from(bytes)
    hurt.fill(0xff, start, start + size)
    return parseSidecar(hurt)
  }
  t.equal(without(slotPosition(6), 100).slot.sequence, 5)
  t.ok(without(slotPosition(5), 100).hasLostSlot)
  t.equal(without(0, 2 * SLOT_AREA_SIZE), null)
  for (const copy of [0, 1]) {
    const parsed = without(pagePosition(1, copy), 1)
    t.deepEqual([...parsed.unequalPages], [1])
    t.equal(parsed.sums.at(SUMS_PER_PAGE), SUMS_PER_PAGE + 6)
  }
  const lost = without(pagePosition(1, 0), 2 * PAGE_SIZE)
  t.deepEqual([...lost.lostPages], [1])
  t.notOk(lost.sums.isKnown(SUMS_PER_PAGE))
  t.ok(lost.sums.isKnown(SUMS_PER_PAGE - 1) && lost.sums.isKnown(2 * SUMS_PER_PAGE))
  const newer = Buffer.from(bytes)
  encodePage({ index: 0, sequence: 7, sums: new Array(SUMS_PER_PAGE).fill(1) }, 9).copy(newer, pagePosition(0, 1))
  t.equal(parseSidecar(newer).sums.at(0), 1)
  t.end()
})

tape('parse: what is cut off, of another version, or nothing of the kind', (t) => {
  const changing = [{ first: 1, count: 2 }, { first: 5000, count: 9 }]
  const bytes = makeSidecar({ sequence: 6, blockCount: SUMS_PER_PAGE + 3, changing })
  const { sums } = parseSidecar(bytes)
  t.deepEqual([0, 1, 2, 3].map((index) => sums.isKnown(index)), [true, false, false, true], 'what is changing is not known')
  t.equal(parseSidecar(bytes.subarray(0, -1)), null, 'pages are there before a slot counts them')
  for (const nothing of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(100000)]) {
    t.equal(parseSidecar(nothing), null)
  }
  const later = Buffer.from(bytes)
  for (const position of [0, SLOT_AREA_SIZE]) later.writeUInt16BE(2, position + 8)
  t.equal(parseSidecar(later), null)
  t.end()
})
