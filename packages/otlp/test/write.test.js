'use strict'
// What is written is read by the oracle, and by the readers here.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { readResponse, readStatus, writeLogRecord, writeProtobuf, writeResponse, writeStatus } = require('..')
const { decode, encode, expectGroups, messages, randomRequest, toJson } = require('./oracle')

/** A request of the JSON encoding as the writer takes it. */
function write ({ resourceLogs = [] }) {
  const writeScopeLogs = ({ logRecords = [], ...rest }) => ({ ...rest, logRecords: logRecords.map(writeLogRecord) })
  return writeProtobuf(resourceLogs.map(({ scopeLogs = [], ...rest }) => {
    return { ...rest, scopeLogs: scopeLogs.map(writeScopeLogs) }
  }))
}

tape('write: random requests of the JSON encoding, against the oracle', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  for (let n = 0; n < 300; n++) {
    const request = randomRequest(random)
    const bytes = write(JSON.parse(toJson(request)))
    const [found, expected] = [bytes, encode(request)].map((bytes) => JSON.stringify(expectGroups(decode(bytes))))
    if (found !== expected) t.fail(`seed ${seed}, request ${n}: ${toJson(request)}\n${expected}\n${found}`)
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('write: what a field cannot hold is refused with its name', (t) => {
  const wrong = { 'timeUnixNano:': { timeUnixNano: '-1' }, 'severityNumber:': { severityNumber: 'INFO' }, 'body: stringValue:': { body: { stringValue: 5 } }, 'attributes:': { attributes: 5 } }
  for (const [name, record] of Object.entries(wrong)) {
    t.throws(() => writeLogRecord(record), (err) => err.code === 'ERR_INVALID_ARGUMENT' && err.message.startsWith(name), name)
  }
  t.end()
})

tape('answers: of both encodings, against the oracle', (t) => {
  const Response = messages.lookupType('ExportLogsServiceResponse')
  const Status = messages.lookupType('Status')
  const cases = [{ rejectedCount: 0, message: '' }, { rejectedCount: 3, message: 'too large' }, { rejectedCount: 0, message: 'a warning' }, { rejectedCount: 2 ** 40, message: '' }]
  for (const rejection of cases) {
    const { rejectedCount, message } = rejection
    for (const encoding of ['protobuf', 'json']) t.deepEqual(readResponse(encoding, writeResponse(encoding, rejection)), rejection)
    const { partialSuccess } = Response.toObject(Response.decode(writeResponse('protobuf', rejection)), { longs: Number, defaults: true })
    if (rejectedCount === 0 && message === '') t.equal(partialSuccess, null)
    else t.deepEqual([partialSuccess.rejectedLogRecords, partialSuccess.errorMessage], [rejectedCount, message])
  }
  t.deepEqual(JSON.parse(writeResponse('json', cases[0])), {})
  t.deepEqual(JSON.parse(writeResponse('json', cases[1])), { partialSuccess: { rejectedLogRecords: '3', errorMessage: 'too large' } })
  const status = { code: 3, message: 'no protobuf' }
  t.deepEqual(Status.toObject(Status.decode(writeStatus('protobuf', status))), status)
  for (const encoding of ['protobuf', 'json']) t.equal(readStatus(encoding, writeStatus(encoding, status)), status.message)
  const details = Status.encode({ ...status, details: [Buffer.from('x')] }).finish()
  t.equal(readStatus('protobuf', details), status.message)
  t.equal(readStatus('json', Buffer.from('{"error":1}')), null)
  for (const bytes of [Buffer.from('<html>'), Buffer.from([0xff])]) {
    for (const encoding of ['protobuf', 'json']) {
      t.deepEqual(readResponse(encoding, bytes), cases[0])
      t.equal(readStatus(encoding, bytes), null)
    }
  }
  t.end()
})
