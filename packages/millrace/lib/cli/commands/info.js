'use strict'

const { join } = require('node:path')
const { LOCK_FILE } = require('@millrace/block-file')
const { inWordsOfCommand } = require('../failures')
const { findBroken } = require('../folder')
const { countRecords, describeRange, describeSize, printFields } = require('../report')
const { describeSlots, toSlotFields } = require('../slot-info')
const { openSource } = require('../source')
const { nameInput } = require('../spool')
const { formatCount } = require('../text')
const { describeWriter, readWriter } = require('../writer-record')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'info',
  summary: 'says what a log is: its framing, codec, size and state',
  details: 'It does not read the records, unless --full is given.',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    { flags: '--full', description: 'also read all of it: count the records, and what a compaction would give back' },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace info events.log', 'framing, codec, size, first and last record']],
  async run ({ args, options, shell }) {
    const source = await openSource(shell, args.file)
    try {
      if (source.parts[0].slot !== null) return await printSlots(source, options, shell)
      const info = await describe(source, options.full)
      if (options.json) shell.print(JSON.stringify(info))
      else printFields(shell, toFields(info))
      return info.damage.length + info.broken.length > 0 ? 1 : 0
    } finally {
      await source.close()
    }
  }
}

/**
 * @param {import('../source').OpenedSource} source
 * @param {Record<string, any>} options
 * @param {import('../shell').Shell} shell
 * @returns {Promise<number>}  the exit code
 */
async function printSlots (source, options, shell) {
  const info = await describeSlots(source, options.full)
  if (options.json) shell.print(JSON.stringify(info))
  else printFields(shell, toSlotFields(info))
  return info.damage.length + info.broken.length > 0 ? 1 : 0
}

/**
 * @param {import('../source').OpenedSource} source
 * @param {boolean} isFull
 */
async function describe ({ log, identity, codec }, isFull) {
  const { path, size, framing, segments } = identity
  const { recovery } = log
  const since = Number(log.since.value)
  const broken = segments === undefined ? [] : await findBroken(path)
  // What is wrong with the first record of a file is told by reading it; with segments, the others are still told of.
  const first = await seqOf(log.stream({ values: false, limit: 1, ...(broken.length > 0 && { onCorrupt: 'skip' }) }))
  return {
    path,
    framing,
    codec: identity.codec,
    readAs: codec,
    size,
    ...(segments && { segments: segments.length }),
    first,
    since,
    writer: readWriter(segments === undefined ? path : join(path, LOCK_FILE)),
    torn: recovery && recovery.size > 0 ? { offset: recovery.offset, size: recovery.size } : null,
    ...(recovery?.changed && { changed: recovery.changed }),
    damage: recovery?.damage ?? [],
    broken,
    flaws: recovery?.flaws ?? [],
    ...(isFull ? await count(log, segments !== undefined) : {})
  }
}

/** @param {AsyncIterable<number>} stream */
async function seqOf (stream) {
  for await (const seq of stream) {
    if (typeof seq === 'number') return seq
  }
  return -1
}

/** @type {(log: import('../source').Log, isFolder: boolean) => Promise<object>} */
async function count (log, isFolder) {
  let records = 0
  let bytes = 0
  await log.scan({}, (run) => {
    records += run.count
    for (let i = 0; i < run.count; i++) bytes += run.ends[i] - run.starts[i]
  })
  return { records, bytes, reclaimableSize: isFolder ? null : await log.measureReclaimable() }
}

/**
 * @param {Awaited<ReturnType<typeof describe>>} info
 * @returns {Array<[name: string, value: string | null]>}
 */
function toFields (info) {
  const { path, framing, codec, readAs, size, first, since, writer, torn, damage, broken, flaws, segments } = info
  return [
    ['path', nameInput(path)],
    ['framing', framing ?? 'none: the file is empty'],
    ['codec', codec ?? `the file names none; its records are read as ${readAs}`],
    ['size', describeSize(size)],
    ['segments', segments === undefined ? null : formatCount(segments)],
    ['first seq', first === -1 ? 'none' : String(first)],
    ['last seq', since === -1 ? 'none' : String(since)],
    ['writer', writer && describeWriter(writer)],
    ...('records' in info ? describeCounts(info) : []),
    ['torn end', torn && `${describeSize(torn.size)} from ${torn.offset} on; the next open for writing cuts it`],
    ['changed', info.changed ?? null],
    ...damage.map((range) => /** @type {[string, string]} */ (['damage', describeRange(range)])),
    ...broken.map(({ error }) => /** @type {[string, string]} */ (['damage', inWordsOfCommand(error)])),
    ...flaws.map((range) => /** @type {[string, string]} */ (['flaw', `${describeRange(range)}; there is a good second copy`]))
  ]
}

/**
 * @param {any} counts
 * @returns {Array<[name: string, value: string | null]>}
 */
function describeCounts ({ records, bytes, reclaimableSize }) {
  return [
    ['records', `${countRecords(records)}, ${describeSize(bytes)}`],
    ['reclaimable', reclaimableSize === null ? 'unknown' : describeSize(reclaimableSize)]
  ]
}
