'use strict'
// Text files as public reports of other tools describe them: torn, spliced, with holes, mixed by two writers.
// Each opens, gives every line that is whole, says what is lost, and takes the next record on a line of its own.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const line = (n) => JSON.stringify({ n, text: `record ${n}` })
const zeros = (size) => '\0'.repeat(size)
const [A, B, C] = [1, 2, 3].map(line)
const HALF = A.slice(0, 12)

/**
 * `cut`: how many bytes at the end are no line, and are kept beside the log.
 * @type {Array<{ report: string, what: string, text: string, values: number[], cut?: number }>}
 */
const REPORTS = [
  {
    report: 'claude-code #53821',
    what: 'zeros in place of the last lines',
    text: `${A}\n${B}\n${zeros(4096)}`,
    values: [1, 2],
    cut: 4096
  },
  {
    report: 'claude-code #52387',
    what: 'the beginning of a line, and behind it the next record',
    text: `${A}\n${HALF}${B}\n${C}\n`,
    values: [1, 3]
  },
  {
    report: 'claude-code #49876',
    what: 'a line of zeros in the middle',
    text: `${A}\n${zeros(700)}\n${B}\n`,
    values: [1, 2]
  },
  {
    report: 'claude-code #76059',
    what: 'a whole record with 9 KB of zeros behind it, and 143 KB of zeros at the end',
    text: `${A}\n${B}${zeros(9000)}\n${C}\n${zeros(143_000)}`,
    values: [1, 3],
    cut: 143_000
  },
  {
    report: 'claude-code #81843',
    what: 'several torn lines, each with another record behind it',
    text: `${HALF}${B}\n${A}\n${HALF}${HALF}${C}\n${B}\n`,
    values: [1, 2]
  },
  {
    report: 'codex #24425',
    what: 'half a record, and the same record again on the next line',
    text: `${A}\n${B.slice(0, -6)}\n\n${B}\n`,
    values: [1, 2]
  },
  {
    report: 'copilot-cli #4098',
    what: 'three truncated events, each with the whole event behind it',
    text: [A, B, C].map((text) => `${text.slice(0, 20)}${text}\n`).join('') + `${A}\n`,
    values: [1]
  },
  {
    report: 'copilot-cli #2927',
    what: '1,206 zeros at the end after a shutdown',
    text: `${A}\n${B}\n${zeros(1206)}`,
    values: [1, 2],
    cut: 1206
  },
  {
    report: 'claude-code #50347',
    what: 'lines that end in the middle of their JSON',
    text: `${A}\n${HALF}\n${B}\n${HALF}\n${C}\n`,
    values: [1, 2, 3]
  },
  {
    report: 'gascity #5336',
    what: 'zeros, and a whole event on the same line',
    text: `${A}\n${zeros(300)}${B}\n${C}\n`,
    values: [1, 2, 3]
  },
  {
    report: 'codegraff #242',
    what: 'large holes, and a fragment that lost its beginning',
    text: `${A}\n${zeros(171_908)}\n${A.slice(9)}\n${B}\n${zeros(994_107)}\n${C}\n`,
    values: [1, 2, 3]
  },
  {
    report: 'docker/for-linux #140',
    what: 'a file that begins with zeros, as it was truncated under its writer',
    text: `${zeros(50_000)}${A}\n${B}\n`,
    values: [1, 2]
  },
  {
    report: 'open-code-review #1308',
    what: 'a last record that is not whole',
    text: `${A}\n${B}\n${HALF}`,
    values: [1, 2],
    cut: HALF.length
  },
  {
    report: 'hermes-agent #12684',
    what: 'two processes write in turn: a record is split over two lines',
    text: `${A}\n${B.slice(0, 15)}\n${B.slice(15)}\n${C}\n`,
    values: [1, 3]
  },
  {
    report: 'animachat #121',
    what: 'two events mixed in one line',
    text: `${A}\n${B.slice(0, 10)}${C.slice(0, 10)}${B.slice(10)}${C.slice(10)}\n${C}\n`,
    values: [1, 3]
  },
  {
    report: 'lean-ctx #852',
    what: 'two objects on one line, and then blank lines',
    text: `${A}\n${B}${C}\n\n${C}\n`,
    values: [1, 3]
  },
  {
    report: 'ao3downloader #166',
    what: 'no line break between two objects',
    text: `${A}${B}\n${C}\n`,
    values: [3]
  },
  {
    report: 'ragflow #19179',
    what: 'a byte-order mark before the first record',
    text: `\ufeff${A}\n${B}\n`,
    values: [1, 2]
  },
  {
    report: 'kern-ai #300',
    what: 'a file without bytes',
    text: '',
    values: []
  },
  {
    report: 'cucumber/common #1181',
    what: 'blank lines, also at the end',
    text: `\n${A}\n\n\n${B}\n\n`,
    values: [1, 2]
  }
]

for (const { report, what, text, values, cut = 0 } of REPORTS) {
  tape(`lines: ${report}: ${what}`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, text)
    const before = fs.readFileSync(file)
    const log = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
    t.deepEqual(await numbersOf(log), values)
    t.deepEqual(await numbersOf(log, { reverse: true }), values.toReversed(), 'in reverse')
    t.equal(log.recovery?.size ?? 0, cut)
    const kept = cut === 0 ? Buffer.alloc(0) : fs.readFileSync(log.recovery.keptAt)
    t.ok(Buffer.concat([fs.readFileSync(file), kept]).equals(before), 'no byte is changed, and what is cut is kept')
    await log.append({ n: 9 })
    await log.append([{ n: 10 }, { n: 11 }])
    await log.close()
    const after = fs.readFileSync(file)
    t.equal(after.toString('utf8', before.length - cut), '{"n":9}\n{"n":10}\n{"n":11}\n', 'lines of their own')
    const again = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
    t.deepEqual(await numbersOf(again), [...values, 9, 10, 11])
    t.equal(again.recovery, null)
    await again.close()
    fs.rmSync(path.dirname(file), { recursive: true })
  })
}

tape('lines: moby #29511: a reader does not get the half of a line that is being written', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, `${A}\n${B.slice(0, 10)}`)
  const log = OffsetLog(file, { framing: 'lines', codec: jsonCodec, flags: 'r' })
  t.deepEqual(await numbersOf(log), [1])
  fs.appendFileSync(file, `${B.slice(10)}\n`)
  const reopened = OffsetLog(file, { framing: 'lines', codec: jsonCodec, flags: 'r' })
  t.deepEqual(await numbersOf(reopened), [1, 2])
  await log.close()
  await reopened.close()
})

/** The ones that can be read; of lines that are no JSON nothing is got. */
async function numbersOf (log, options = {}) {
  const numbers = []
  for await (const { n } of log.stream({ ...options, seqs: false, onCorrupt: 'skip' })) numbers.push(n)
  return numbers
}
