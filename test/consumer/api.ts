// What a consumer may write, and, below each @ts-expect-error, what it may not. Compiled strictly, never run.

import { pipeline } from 'node:stream/promises'
import { BlockFile, BlockCache, fileStorage } from '@millrace/block-file'
import type { BlockFileOptions, Storage } from '@millrace/block-file'
import { readUInt32BE } from '@millrace/flow'
import type { Observable } from '@millrace/flow'
import { binaryCodec, canonicalCodec, compareString, createSeekPath, decode, encode } from '@millrace/binary-codec'
import { getValueType, iterate, rawCodec, seekKey, types } from '@millrace/binary-codec'
import { codes, LogError, misuse } from '@millrace/errors'
import type { ErrorCode, Failure } from '@millrace/errors'
import { Forwarder, httpSink, otlpSink, refused, unavailable, writableSink } from '@millrace/forwarder'
import type { Lag, SinkRecord } from '@millrace/forwarder'
import { createIngest, createKey, ingest, listKeys, revokeKey } from '@millrace/ingest'
import type { Ack, Ingest, IngestOptions, Key, ServerOptions } from '@millrace/ingest'
import { whyForeign } from '@millrace/flow/loopback'
import { jsonCodec } from '@millrace/json-codec'
import { lines, LogWriter, preEncoded } from '@millrace/log-writer'
import type { Counters, LogWriterOptions } from '@millrace/log-writer'
import { MergedLog, SlotLog } from '@millrace/merged-log'
import type { MergedItem, MergedReadOptions, Position } from '@millrace/merged-log'
import { OffsetLog } from '@millrace/offset-log'
import type { RangeOptions, RecordRun, Codec, OffsetLogOptions, Partition, ReadOptions, Source } from '@millrace/offset-log'
import type { AppendOptions, AppendSyncOptions, Recovery } from '@millrace/offset-log'
import { open } from 'millrace'
import pino from 'pino'
import { destination, formatPretty, levelFilter, preset, timeFilter } from '@millrace/pino'
import type { Destination, DestinationOptions, Log } from '@millrace/pino'
import { SegmentedLog } from '@millrace/segmented-log'
import type { Hold, SegmentInfo } from '@millrace/segmented-log'
import { repair, verify } from '@millrace/repair'
import type { RepairReport, Report } from '@millrace/repair'
import { createView } from '@millrace/view'
import type { View, ViewStatus } from '@millrace/view'
import { matches, parseWhere } from '@millrace/where'
import type { Filter, Where } from '@millrace/where'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** `is<Expected>()(value)` compiles when the type of the value is exactly that. */
declare function is<Expected> (): <Actual>(value: Actual, ...wrong: Wrong<Actual, Expected>) => void
type Wrong<Actual, Expected> = Equal<Actual, Expected> extends true ? [] : [never]

interface Message { author: string, text: string, likes?: number }
interface Pair { seq: number, value: Message }

export async function create () {
  is<OffsetLog<Message>>()(OffsetLog<Message>('a.log', { codec: jsonCodec }))
  is<OffsetLog<Message>>()(new OffsetLog<Message>('a.log', { codec: canonicalCodec, fsync: 'always' }))
  is<OffsetLog<any>>()(OffsetLog('a.log', { codec: jsonCodec }))
  is<OffsetLog<Buffer>>()(OffsetLog('a.log', { codec: rawCodec, flags: 'r' }))
  is<OffsetLog<Buffer>>()(OffsetLog('a.log'))
  is<OffsetLog<Buffer>>()(new OffsetLog('a.log', { cache: 2 ** 20, storage: fileStorage }))

  const messages: Codec<Message> = {
    name: 'lines',
    encode: ({ author, text }) => `${author}\n${text}`,
    decode: (bytes: Buffer) => ({ author: '', text: String(bytes) }),
    buffer: true
  }
  is<OffsetLog<Message>>()(OffsetLog('a.log', { codec: messages }))
  is<OffsetLog<Date>>()(OffsetLog('a.log', {
    codec: { encode: (date: Date) => date.toJSON(), decode: (text: string) => new Date(text), buffer: false }
  }))
  const annotated: OffsetLog<Message> = OffsetLog('a.log', { codec: jsonCodec })
  const options: OffsetLogOptions<Message> = { codec: messages, onCorrupt: 'skip' }
  OffsetLog('a.log', options)
  class Journal extends OffsetLog<Message> {}
  await new Journal('a.log', { codec: messages }).append({ author: 'ada', text: '' })

  // @ts-expect-error no codec makes messages of bytes
  OffsetLog<Message>('a.log')
  // @ts-expect-error
  const wrong: OffsetLog<Message> = OffsetLog('a.log')
  // @ts-expect-error there is no such option
  OffsetLog('a.log', { codec: jsonCodec, blocksize: 1024 })
  // @ts-expect-error
  OffsetLog('a.log', { fsync: 'sometimes' })
  // @ts-expect-error
  OffsetLog('a.log', { framing: 'offset64' })
  // @ts-expect-error
  OffsetLog('a.log', { codec: { encode: () => 7, decode: () => 7 } })
  // @ts-expect-error
  OffsetLog<Message>('a.log', { codec: rawCodec })
  // @ts-expect-error
  OffsetLog()
  return [annotated, wrong]
}

export async function write (log: OffsetLog<Message>, lists: OffsetLog<number[]>, any: OffsetLog) {
  is<number>()(await log.append({ author: 'ada', text: 'hi' }))
  is<Promise<number>>()(log.append([{ author: 'ada', text: 'hi' }]))
  is<void>()(log.append({ author: 'ada', text: 'hi' }, (err, seq) => {
    is<Failure | null>()(err)
    is<number>()(seq)
  }))
  log.append([], (err: Error | null, seq?: number) => [err, seq])
  await lists.append([[1], [2]])
  await any.append({ anything: true })
  is<number[]>()(await log.append([{ author: 'ada', text: 'hi' }], { seqs: true }))
  is<number[]>()(await log.append({ author: 'ada', text: 'hi' }, { seqs: true }))
  is<number>()(await log.append([], { seqs: false }))
  is<number>()(await log.append({ author: 'ada', text: 'hi' }, {}))
  is<number>()(await log.append({ author: 'ada', text: 'hi' }, undefined))
  const options: AppendOptions = {}
  is<number | number[]>()(await log.append([], options))
  is<void>()(log.append([], { seqs: true }, (err, seqs) => {
    is<Failure | null>()(err)
    is<number[]>()(seqs)
  }))
  log.append([], undefined, (err, seq) => { is<number>()(seq) })
  is<number[]>()(await lists.append([[1], [2]], { seqs: true }))
  is<number[]>()(await any.append([{ anything: true }], { seqs: true }))
  any.append({ anything: true }, (err, seq) => { is<number>()(seq) })
  is<number>()(log.appendSync([], { sync: false }))
  is<number>()(any.appendSync({ anything: true }))
  is<number[]>()(log.appendSync([{ author: 'ada', text: 'hi' }], { sync: false, seqs: true }))
  const both: AppendSyncOptions = {}
  is<number | number[]>()(log.appendSync([], both))
  is<Promise<void>>()(log.del(7))
  is<number>()((await log.compact()).sizeBefore)
  is<Promise<void>>()(log.snapshot('copy.log'))
  is<void>()(log.del([7, 8], (err) => { is<Failure | null>()(err) }))
  await Promise.all([log.ready(), log.sync(), log.close()])
  log.close((err) => err)

  const appendOne = <T>(other: OffsetLog<T>, value: T) => other.append([value])
  is<number>()(await appendOne(log, { author: 'ada', text: 'hi' }))

  // @ts-expect-error
  await log.append({ author: 'ada', text: 7 })
  // @ts-expect-error
  await log.append({ author: 'ada', text: 'hi', shout: true })
  // @ts-expect-error
  await log.append([{ author: 'ada' }])
  // @ts-expect-error it would become two records
  is<number>()(await lists.append([1, 2]))
  // @ts-expect-error it would become two records
  is<number[]>()(await lists.append([1, 2], { seqs: true }))
  // @ts-expect-error
  await log.append([{ author: 'ada' }], { seqs: true })
  // @ts-expect-error
  await log.append([], { seqs: 1 })
  // @ts-expect-error
  await log.append([], { seq: true })
  // @ts-expect-error
  log.appendSync([], { seq: true })
  // @ts-expect-error
  log.append({ author: 'ada', text: 'hi' }, (err: Error | null, seq: string) => seq)
  // @ts-expect-error
  await log.del('7')
  // @ts-expect-error
  await log.snapshot()
  // @ts-expect-error
  await log.flush()
  // @ts-expect-error the log moves it
  log.since.set(7)
}

export async function read (log: OffsetLog<Message>, seqs: boolean) {
  is<Message>()(await log.get(0))
  log.get(0, (err, message) => err ? 0 : message.text.length)
  // @ts-expect-error
  await log.get('0')

  const read1 = log.stream()
  is<Source<Pair>>()(read1)
  const read2 = log.stream({ gt: 0, lte: 9, reverse: true, limit: 3, live: false, onCorrupt: 'skip' })
  is<Source<Pair>>()(read2)
  const read3 = log.stream({ seqs: false })
  is<Source<Message>>()(read3)
  const read4 = log.stream({ seqs: false, values: true, live: true })
  is<Source<Message>>()(read4)
  const read5 = log.stream({ values: false })
  is<Source<number>>()(read5)
  const read6 = log.stream({ seqs: true, values: true })
  is<Source<Pair>>()(read6)
  const read7 = log.stream({ seqs })
  is<Source<Message | Pair>>()(read7)
  const read8 = log.stream({ values: seqs })
  is<Source<number | Pair>>()(read8)
  const read9 = log.stream({ seqs, values: seqs })
  is<Source<Message | number | Pair>>()(read9)
  for await (const { seq, value } of log.stream({ gte: 0 })) [seq.toFixed(), value.author.length]
  for await (const message of log.stream({ seqs: false })) is<Message>()(message)
  is<{ count: number, size: number }>()(log.stream({ onCorrupt: 'skip' }).lost)

  log.stream({ seqs: false })(null, (end, message) => end || message.text)
  type End = Error | boolean | null
  const pulled: (end: End, cb?: (end: End, item?: Message) => void) => void = log.stream({ seqs: false })
  pulled(true)

  // @ts-expect-error
  log.stream({ from: 0 })
  // @ts-expect-error
  log.stream({ gt: '0' })
  // @ts-expect-error
  log.stream({ onCorrupt: 'ignore' })
  // @ts-expect-error a seq is no message
  for await (const { author } of log.stream({ values: false })) author.trim()
  // @ts-expect-error
  for await (const message of log.stream({ seqs: false })) message.value.trim()
}

// Options in variables do not widen what a stream gives.
export async function shape (log: OffsetLog<Message>) {
  const plain = { limit: 3 }
  const read10 = log.stream(plain)
  is<Source<Pair>>()(read10)
  const annotated: ReadOptions = { gt: 3 }
  const read11 = log.stream(annotated)
  is<Source<Pair>>()(read11)
  const values: ReadOptions = { seqs: false, limit: 3 }
  const read12 = log.stream(values)
  is<Source<Message>>()(read12)
  const seqs = { values: false } satisfies ReadOptions
  const read13 = log.stream(seqs)
  is<Source<number>>()(read13)
  const widened = { seqs: false }
  const read14 = log.stream(widened)
  is<Source<Message | Pair>>()(read14)
  const shapeOf = (options: ReadOptions) => log.stream(options)
  is<Source<Message | number | Pair>>()(shapeOf({ seqs: false }))
  const range: RangeOptions = { gt: 3 }
  const read15 = log.stream({ ...range, seqs: false })
  is<Source<Message>>()(read15)
}

// What is generic over the type of the values.
export async function wrap () {
  async function add<T> (log: OffsetLog<T>, value: T): Promise<number> {
    await log.append([value, value])
    log.append(value, (err, seq) => err ?? seq.toFixed())
    return log.append(value)
  }
  async function lastOf<T> (log: OffsetLog<T>): Promise<T | undefined> {
    const entry = await log.last()
    for await (const value of log.stream({ seqs: false, limit: 1 })) return value
    return entry?.value
  }
  function openLog<T> (path: string, codec: Codec<T>, options: Omit<OffsetLogOptions<T>, 'codec'> = {}): OffsetLog<T> {
    return OffsetLog(path, { ...options, codec })
  }
  const dates: Codec<Date> = { encode: (date) => date.toJSON(), decode: (text: string) => new Date(text), buffer: false }
  const log = openLog('a.log', dates, { fsync: 'never' })
  is<OffsetLog<Date>>()(log)
  const options = { codec: dates, cache: 0 }
  is<OffsetLog<Date>>()(OffsetLog('a.log', options))
  is<number>()(await add(log, new Date()))
  is<Date | undefined>()(await lastOf(log))
  const anything: OffsetLog = log
  return anything
}

export async function ask (log: OffsetLog<Message>, signal: AbortSignal) {
  is<OffsetLog<Buffer>>()(OffsetLog(new URL('file:///a.log'), { mustExist: true, strict: true, signal, maxPendingSize: 2 ** 20 }))
  is<Message>()(await log.get(0, { signal }))
  log.get(0, { signal }, (err, message) => err ? 0 : message.text.length)
  is<Array<Message | undefined>>()(await log.getMany([0, 1] as const, { signal }))
  is<Pair | undefined>()(await log.first())
  is<Pair | undefined>()(await log.last({ lt: 7, signal }))
  is<Message | undefined>()(await log.last({ seqs: false }))
  is<number | undefined>()(await log.first({ values: false, where: { path: ['author'], equals: 'ada' } }))
  log.first((err, entry) => err ? 0 : entry?.value.text)
  log.last({ seqs: false }, (err, message) => err ? 0 : message?.text)
  is<number>()(await log.count())
  is<number>()(await log.count({ limit: 7, signal }))
  log.count((err, count) => err ? 0 : count.toFixed())
  is<number>()(log.pendingSize)
  if (log.needsDrain) await log.drained()
  is<Promise<void>>()(log[Symbol.asyncDispose]())
  is<Promise<void>>()(log.stream()[Symbol.asyncDispose]())

  for await (const { value } of log.toReadable({ highWaterMark: 7, signal })) value.text.trim()
  for await (const seq of log.toReadable({ values: false })) is<number>()(seq)
  is<number>()(log.toReadable().lost.count)
  await pipeline(log.stream({ seqs: false }), async function * (messages) {
    for await (const message of messages) yield message
  }, log.toWritable({ flush: true, highWaterMark: 7, signal }))
  await pipeline(log.toReadable({ seqs: false }), log.toWritable())
  log.toSink((err) => err?.message)(log.stream({ seqs: false }))

  // @ts-expect-error
  await log.last({ reverse: true })
  // @ts-expect-error
  await log.count({ seqs: false })
  // @ts-expect-error
  log.toWritable({ sync: true })
  // @ts-expect-error
  await log.stream({ limt: 1, seqs: false })
  // @ts-expect-error
  await log.getMany(7)
  // @ts-expect-error
  log.pendingSize = 7
}

export function filter (log: OffsetLog<Message>) {
  const path = ['text'] as const
  const where: Where = [{ path: ['author'], equals: 'ada' }, { path, equals: null }]
  const options: ReadOptions = { where, limit: 1 }
  log.stream({ ...options, where: { path: [], equals: 7 } })
  is<Filter[]>()(parseWhere(where))
  is<boolean>()(matches(parseWhere(where), {}))
  is<boolean>()(jsonCodec.compile(where)(Buffer.alloc(2), 0, 2))
  is<boolean>()(binaryCodec.compile({ path, equals: true })(Buffer.alloc(2), 0, 2))
  log.stream({ where: [{ path, exists: true }, { path: ['likes'], exists: false }] })
  for (const filter of parseWhere(where)) {
    if ('not' in filter) is<Filter>()(filter.not)
    else if ('any' in filter) is<Filter[]>()(filter.any)
    else if (!('all' in filter) && filter.equals !== undefined) is<string | number | boolean | null>()(filter.equals)
  }
  jsonCodec.compile({ path: 'a.b.0', gte: 1, lt: 5 })
  jsonCodec.compile([{ any: [{ path: [7], prefix: 'a' }, [{ not: { path: 'a', in: ['b', 1, null] } }]] }])
  jsonCodec.compile({ path: 'a', includes: { path: 'b', includes: 7 } })
  binaryCodec.compile(parseWhere(where))

  checkPaths(log)

  // @ts-expect-error
  jsonCodec.compile({ path: 'a', gte: true })
  // @ts-expect-error there is no such operator
  jsonCodec.compile({ path: 'a', equal: 1 })
  // @ts-expect-error
  jsonCodec.compile({ any: { path: 'a', equals: 1 } })
  // @ts-expect-error one operator
  jsonCodec.compile({ path: 'a', gt: 1, prefix: 'a' })
  // @ts-expect-error only primitives are compared
  log.stream({ where: { path: ['author'], equals: { name: 'ada' } } })
  // @ts-expect-error
  log.stream({ where: [{ path: ['author'] }] })
  // @ts-expect-error one or the other
  log.stream({ where: { path: ['author'], equals: 'ada', exists: true } })
  // @ts-expect-error
  log.stream({ where: { path: ['author'], exists: 1 } })
  // @ts-expect-error
  jsonCodec.compile({ path: [true], equals: 7 })
}

interface Thread { id: string, meta?: { tags: string[], 'a.b': 1 } | null, replies: Array<{ at: number, by: Thread }>, byYear: { 2024: number }
  counts: Record<string, number>, pair: [string, { x: 1 }], any: any, unknown: unknown }

function checkPaths (log: OffsetLog<Message>, threads = OffsetLog<Thread>('a.log', { codec: jsonCodec }), any: OffsetLog = log) {
  threads.stream({ where: { path: 'meta.tags.0', prefix: 'a' } })
  threads.stream({ where: { path: ['replies', 3, 'by', 'replies', 0, 'at'], gt: 5 }, seqs: false })
  threads.stream({ where: [{ any: [{ path: ['meta', 'a.b'], exists: true }, { not: { path: 'byYear.2024', lt: 3 } }] }] })
  threads.stream({ where: { path: 'replies', includes: { path: 'by.id', in: ['a', 'b'] } }, values: false })
  threads.stream({ where: { path: 'meta.tags', includes: 'a' } })
  threads.stream({ where: { all: [{ path: 'counts.whatever', gte: 1 }, { path: 'any.a.0.b', exists: true }] } })
  threads.stream({ where: { path: ['unknown', 'a', 0], exists: true } })
  threads.stream({ where: { path: 'pair.1.x', equals: 1 } })
  threads.scan({ where: { path: 'id', prefix: 'a' } }, () => {})
  any.stream({ where: { path: 'what.ever.7', exists: true } })
  const wide = { path: ['what', 'ever'], equals: 1 }
  threads.stream({ where: wide })
  const text: string = 'what.ever'
  threads.stream({ where: { path: text, equals: 1 } })
  const typed: Where = { path: 'what.ever', equals: 1 }
  threads.stream({ where: typed })
  threads.scan({ where: parseWhere(typed) }, () => {})

  // @ts-expect-error
  log.stream({ where: { path: ['autor'], equals: 'ada' } })
  // @ts-expect-error
  log.stream({ where: { path: 'author.name', equals: 'ada' } })
  // @ts-expect-error
  threads.stream({ where: { path: 'meta.tags.first', equals: 'a' } })
  // @ts-expect-error a string is no index
  threads.stream({ where: { path: ['meta', 'tags', '0'], equals: 'a' } })
  // @ts-expect-error
  threads.stream({ where: { path: ['replies', 'at'], gt: 5 } })
  // @ts-expect-error
  threads.stream({ where: { any: [{ path: 'id', equals: 'a' }, { not: [{ path: 'ids', equals: 'a' }] }] } })
  // @ts-expect-error
  threads.stream({ where: { path: 'replies', includes: { path: 'by.ids', equals: 'a' } }, seqs: false })
  // @ts-expect-error
  threads.stream({ where: [{ path: 'id', equals: 'a' }, { path: 'x', equals: 'a' }], values: false })
  // @ts-expect-error
  threads.first({ where: { path: 'ids', prefix: 'a' } })
  // @ts-expect-error
  threads.count({ where: { path: 'ids', prefix: 'a' } })
  // @ts-expect-error
  threads.scan({ where: { path: 'ids', prefix: 'a' } }, () => {})
}

export async function scan (log: OffsetLog<Message>) {
  const where = { path: ['author'], equals: 'ada' }
  is<{ lost: { count: number, size: number } }>()(await log.scan({ where }, (chunk) => {
    is<RecordRun>()(chunk)
    const { buffer, count, seqs, starts, ends } = chunk
    is<Buffer>()(buffer)
    is<Float64Array>()(seqs)
    is<Uint32Array>()(starts)
    return buffer.toString('utf8', starts[0], ends[0]).length + seqs[count - 1] > 0
  }))
  is<void>()(log.scan({}, () => {}, (err, result) => err ?? result.lost.count))
  const ranges = await log.partitions(2)
  is<Partition[]>()(ranges)
  is<void>()(log.partitions(2, (err, ranges) => err ?? ranges.map(({ gte, lt }) => lt - gte)))
  await log.scan({ ...ranges[0], where }, () => {})
  log.stream(ranges[0])

  // @ts-expect-error only streams are live
  await log.scan({ live: true }, () => {})
  // @ts-expect-error
  await log.scan({})
  await log.scan({}, (chunk) => {
    // @ts-expect-error
    chunk.count = 0
  })
}

export async function look (log: OffsetLog<Message>) {
  is<string>()(log.filename)
  is<number | undefined>()(log.since.value)
  is<Observable<number>>()(log.durable)
  const stop = log.since((seq) => { is<number>()(seq) })
  is<void>()(stop())
  log.since.once((seq) => seq + 1, false)
  is<Recovery | null>()(log.recovery)
  is<string | undefined>()(log.recovery?.damage[0].what)
  is<boolean>()(log.supports.atomicBatch)
  is<'async'>()(log.methods.del)
  const { framing, id, size, since, blockSize } = await log.stats()
  is<string>()(framing)
  is<string | null>()(id)
  is<number>()(size + since + blockSize)
  is<number | null>()(await log.measureReclaimable())
  is<boolean | undefined>()(log.compactionProgress.value?.isDone)

  // @ts-expect-error it may not be loaded yet
  log.since.value.toFixed()
  // @ts-expect-error
  log._file.end()
}

export async function logging () {
  const log = OffsetLog('app.log', { codec: lines })
  is<void>()(log.flushSync())
  is<void>()(log.flushSync({ sync: false }))
  const options: LogWriterOptions = { whenFull: 'drop-old', eager: { error: 'synced' }, batch: { ageMs: 10 } }
  const writer = LogWriter(log, { ...options, replace: (err, attempt) => OffsetLog(`${err.message}-${attempt}`) })
  is<boolean>()(writer.write({ msg: 'a' }, 'info'))
  is<boolean>()(writer.write('{}', 30))
  is<boolean>()(writer.flushSync({ sync: false }))
  is<void>()(await writer.flush())
  is<Counters>()(writer.counters())
  is<number>()(writer.counters().total.dropped + writer.bound.bytes)
  new LogWriter(OffsetLog('b.log', { codec: preEncoded(binaryCodec) }), { codec: binaryCodec })
  await writer.close()

  // @ts-expect-error
  LogWriter(log, { whenFull: 'block' })
  // @ts-expect-error
  LogWriter('app.log')
  // @ts-expect-error
  log.flushSync({ synch: true })
}

export async function opening () {
  const log = open<{ n: number }>('events', { maxSize: 2 ** 20, keep: { where: { path: 'n', gt: 1 } }, index: ['n'] })
  await log.roll()
  is<SegmentInfo[]>()(await log.segments())
  is<{ n: number }>()((await log.first())!.value)
  log.view({ name: 'sum', initial: 0, reduce: (sum, { n }) => sum + n })
  const file: OffsetLog = open('a.log', { index: ['n'] })
  open('a.log', { strict: false }).stream()
  await file.compact()
  // @ts-expect-error
  open('events', { maxSize: '1 MiB' })
  // @ts-expect-error
  open('events', { maxSzie: 2 ** 20 })
}

export async function views () {
  const log = open<{ n: number }>('a.log')
  const reduce = (state: { total: number }, { n }: { n: number }, seq: number) => ({ total: state.total + n + seq })
  const view = createView(log, { name: 'sum', initial: { total: 0 }, reduce, where: { path: 'n', gt: 1 } })
  is<{ total: number }>()(await view.get())
  is<{ total: number }>()(view.value)
  is<Observable<number>>()(view.since)
  is<ViewStatus>()(view.status())
  const own: View<{ total: number }> = open<{ n: number }>('b.log').view({ name: 'sum', initial: { total: 0 }, reduce })
  await own.rebuild()
  createView(SegmentedLog('logs', {}), { name: 'count', initial: 0, reduce: (count) => count + 1 })
  // @ts-expect-error: the state has another type
  createView(log, { name: 'sum', initial: { total: '' }, reduce })
  // @ts-expect-error
  createView(log, { name: 'sum', initial: { total: 0 } })
}

export async function loggingWithPino () {
  const options: DestinationOptions = { log: { maxSize: 2 ** 20, segmentDay: 'UTC' }, levels: { audit: 55 }, whenFull: 'wait' }
  const to = destination('logs', options)
  is<Destination>()(to)
  // What pino asks of a destination.
  const stream: { write: (line: string) => void } = to
  is<boolean>()(to.write(Buffer.from('{}\n')))
  is<void>()(to.flush((err) => err?.message))
  is<boolean>()(to.flushSync())
  is<Counters>()(to.writer.counters())
  to.reopen(new URL('file:///logs'))
  destination(OffsetLog('a.log', { codec: lines }), { redact: ['card', 'email'], tee: process.stdout })
  is<boolean>()(await to.drain({ withinMs: 100, forwarder: Forwarder(OffsetLog('a.log'), { sink: () => {} }) }))
  // The log of a destination is of the kind that its target has.
  is<SegmentedLog>()(to.log)
  is<SegmentedLog>()(to.writer.log)
  for await (const { msg } of to.log.stream({ seqs: false, where: [timeFilter({ since: 0 }), levelFilter('warn')] })) is<any>()(msg)
  for await (const { msg } of to.log.stream({ seqs: false, where: levelFilter('warn') })) is<any>()(msg)
  const countAll = async (where: Where) => await to.log.count({ where }) + await OffsetLog<Message>('a.log', { codec: jsonCodec }).count({ where })
  is<number>()(await countAll([]))
  const { password } = await to.log.last({ seqs: false })
  is<number>()(await to.log.count())
  const held: Hold[] = await to.log.holds()
  const segments: SegmentInfo[] = await to.log.segments()
  is<any>()([password, held, segments].at(0))
  Forwarder(to.log, { sink: otlpSink('http://collector:4318/v1/logs') })
  const ofSlots = destination('logs', { slots: 16, log: { maxSize: 2 ** 28, mode: 0o640 } })
  is<SlotLog>()(ofSlots.log)
  is<number | null>()(ofSlots.log.slot)
  is<Destination<SlotLog>>()(destination(SlotLog('logs', { codec: lines, mode: '640' })))
  is<Destination<OffsetLog<any>>>()(destination(OffsetLog<any>('a.log', { codec: lines })))
  is<SegmentedLog<Message>>()(destination(SegmentedLog<Message>('logs', { codec: jsonCodec }), { tee: 'pretty' }).log)
  const slot: SlotLog = SlotLog('logs')
  const merged: MergedLog = MergedLog('logs')
  is<SegmentedLog | null>()(slot.log)
  is<string>()(merged.filename)

  // What pino asks of its options and its streams.
  const logger = pino({ level: 'info' }, to)
  logger.info({ user: 'ada' }, 'hello')
  pino(...preset('production', 'logs')).info('hello')
  const [loggerOptions, production] = preset('production', 'logs', { tee: 'stdout' })
  pino(loggerOptions, production).info(loggerOptions.redact?.censor)
  pino(pino.multistream([{ stream: to, level: 'info' }, { stream: process.stdout }])).info('to both')
  process.stdin.pipe(to)
  is<Destination<SlotLog>>()(preset('production', 'logs', { slots: true })[1])
  const anyLog: Destination<Log> = ofSlots
  is<string>()(loggerOptions.level)
  is<Destination>()(production)
  is<string>()(formatPretty({ level: 30 }, { colors: true }))
  OffsetLog<any>('a.log', { codec: lines }).stream({ where: [timeFilter({ since: new Date() }), levelFilter('warn')] })
  await to.close()
  await anyLog.close()

  // @ts-expect-error a slot is only written: MergedLog reads
  ofSlots.log.stream()
  // @ts-expect-error
  preset('strict', 'logs')
  // @ts-expect-error
  destination('logs', { redact: ['phone'] })
  // @ts-expect-error
  destination('logs', { codec: jsonCodec })
  // @ts-expect-error
  destination()
  return stream
}

export async function overHttp () {
  const logs: IngestOptions = { folder: new URL('file:///data'), ack: 'synced', limits: { eventsPerDay: 100 }, rate: null }
  const options: ServerOptions = { ...logs, port: 0, accessLog: destination('access'), log: { maxSize: 2 ** 30, segmentDay: 'UTC' } }
  const server = createIngest(options)
  is<Ingest>()(server)
  is<string>()(await server.listen())
  is<void>()(await server.ready())
  await server.app.register(ingest, { folder: 'other', prefix: '/other', onReport: (err, log) => log + err.message })
  const { secret, key } = await createKey('keys.json', { scopes: ['read:*'], note: 'for a report' })
  is<string>()(secret)
  is<Key>()(key)
  is<Key[]>()(await listKeys('keys.json'))
  is<void>()(await revokeKey('keys.json', key.id))
  is<string | null>()(whyForeign({ host: 'localhost', origin: 'http://other.example' }))
  const acks: Ack[] = ['buffered', 'written', 'synced']
  await server.close()

  // @ts-expect-error
  createIngest({ folder: 'data', ack: 'stored' })
  // @ts-expect-error
  createIngest({ folder: 'data', limits: { events: 1 } })
  // @ts-expect-error
  createIngest({ port: 0 })
  // @ts-expect-error
  createIngest({ folder: 'data', accessLog: 'access.log' })
  return acks
}

export async function salvage () {
  is<Report>()(await verify('a.log', { rangesMax: 10, onDamage: ({ what, offset }) => what + offset }))
  is<void>()(verify('a.log', (err, report) => err ?? report.isSound))
  is<RepairReport>()(await repair('a.log', 'b.log', { write: true, framing: 'offset32' }))
  is<void>()(repair('a.log', 'b.log', (err, report) => err ?? report.recovered))
  is<void>()(repair('a.log', 'b.log', { write: true }, (err, { lost }) => err ?? lost.length))

  // @ts-expect-error it writes nothing
  await verify('a.log', { write: true })
  // @ts-expect-error
  await repair('a.log')
}

export function fail (err: unknown) {
  if (!(err instanceof LogError)) throw misuse('expected an error of the log')
  if (err.code === 'flumelog:deleted' || err.code === 'ENOSPC') return err.offset
  const known: ErrorCode = 'ERR_LOG_CLOSED'
  is<ErrorCode>()(known as keyof typeof codes)
  is<string | undefined>()(err.holder?.host)
  is<'ERR_INVALID_ARGUMENT'>()(misuse('').code)
  codes[known].trim()
  // @ts-expect-error there is no such code
  if (err.code === 'ERR_LOG_GONE') return
  // @ts-expect-error
  return new LogError('ERR_LOG_GONE', 'gone')
}

export function blocks () {
  const options: BlockFileOptions = { blockSize: 1024, flags: 'r+', cache: 0 }
  const file = BlockFile('a.bin', options)
  is<BlockFile>()(file)
  is<BlockFile>()(new BlockFile('a.bin'))
  is<number>()(file.size.value)
  file.append(Buffer.from('abc'), (err, size) => err ?? size.toFixed())
  file.read(0, 3, (err, bytes) => err ?? bytes.toString())
  file.readUInt48BE(0, (err, number) => err ?? number.toFixed())
  file.scan({ start: 0 }, (block, position) => block.length + position < 10, (err) => err)
  file.write(Buffer.from('x'), 0, (err) => err)
  file.truncate(0, () => {})
  file.sync(() => {})
  file.close(() => {})
  is<Buffer>()(file.createSpanReader().buffer)
  is<number>()(readUInt32BE(Buffer.alloc(4), 0))
  is<number>()(new BlockCache(1024, 4096).find(0))
  const storage: Storage = fileStorage
  storage.unlink('a.bin', () => {})

  // @ts-expect-error its methods take a callback
  file.sync()
  // @ts-expect-error
  file.append('abc', () => {})
  // @ts-expect-error
  BlockFile('a.bin', { blockSise: 1024 })
  // @ts-expect-error what begins with _ is private
  file._file.handle = null
}

export function binary () {
  const record = encode({ author: 'ada' })
  is<Buffer>()(record)
  is<number>()(encode('x', record, 1))
  is<any>()(decode(record))
  is<number>()(seekKey(record, 0, 'author'))
  is<number>()(createSeekPath(['content', 0])(record))
  is<number | null>()(compareString(record, 0, 'ada'))
  is<number>()(iterate(record, 0, (buf, valueStart, key) => buf.length > valueStart + key))
  is<0>()(types.string)
  is<number | undefined>()(getValueType(7n))
  is<Buffer>()(rawCodec.encode(new Uint8Array(2)))

  // @ts-expect-error
  rawCodec.encode('text')
  // @ts-expect-error
  seekKey(record, 0, 7)
  // @ts-expect-error
  binaryCodec.name = 'other'
}

export async function forward (log: OffsetLog<Message>) {
  const forwarder = Forwarder<Message>(log, {
    name: 'mail',
    batch: { count: 10 },
    sink: async (records, { key, signal }) => {
      is<SinkRecord<Message>[]>()(records)
      is<string>()(key)
      if (signal.aborted) throw unavailable('later', { retryAfterMs: 5 })
      if (records[0].value.likes === undefined) throw refused('no likes')
    },
    timeOf: ({ likes }) => likes,
    onReport: (report) => {
      if (report.what === 'refused') is<number>()(report.seq)
      if (report.what === 'retry') is<Error>()(report.error)
    }
  })
  is<Lag | undefined>()(forwarder.lag.value)
  is<boolean>()((await forwarder.close({ drain: 100 })).isDrained)
  new Forwarder(log, { sink: writableSink(process.stdout) }).stats().lastError?.message.trim()

  Forwarder(log, { sink: httpSink('http://a/b', { gzip: true, format: ({ seq, value }) => [seq, value] }) })
  Forwarder(log, { sink: otlpSink(new URL('http://a'), { resource: { 'service.name': 'a' }, map: (record) => record }) })

  // @ts-expect-error
  Forwarder(log, {})
  // @ts-expect-error
  Forwarder(log, { sink: async () => {}, start: 'last' })
}

export async function merge () {
  const slot = SlotLog('logs', { codec: jsonCodec, maxSize: 2 ** 30 })
  LogWriter(slot)
  is<number | null>()(slot.slot)
  is<number>()(await slot.append({ at: 1 }))
  is<number>()(await slot.append([{ at: 1 }], {}))
  is<number[]>()(await slot.append([{ at: 1 }], { seqs: true }))
  slot.append([{ at: 1 }], (err, seq) => { is<number>()(seq) })
  slot.append([{ at: 1 }], { seqs: true }, (err, seqs) => { is<number[]>()(seqs) })
  is<number>()(slot.appendSync({ at: 1 }, { sync: false }))
  is<number[]>()(slot.appendSync([{ at: 1 }], { seqs: true }))
  const log = new MergedLog('logs', { time: (value) => value.at, latenessMs: 100 })
  const options: MergedReadOptions = { live: true, where: { path: 'k', gt: 1 } }
  const source = log.stream(options)
  is<Position>()(source.position)
  const item: MergedItem = await log.first()
  // @ts-expect-error: slots have no seqs in common
  log.stream({ gt: 5 })
  await log.get(item.seq)
}
