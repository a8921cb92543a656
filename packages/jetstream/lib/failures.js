'use strict'
// The failures of servers and connections as errors with a code. The original is the `cause`.

const { LogError } = require('@millrace/errors')
const { JetStreamApiError } = require('@nats-io/jetstream')
const { AuthorizationError, NoRespondersError, PermissionViolationError, RequestError, UserAuthenticationExpiredError } = require('@nats-io/transport-node')

/** The servers' numbers for errors, as far as they matter here. */
const NUMBER = {
  notLeader: 10009,
  insufficientResources: 10023,
  notMatchingStream: 10060,
  noMessage: 10037,
  sequenceNotFound: 10043,
  deleteFailed: 10057,
  otherSequence: 10063,
  messageTooLarge: 10054,
  nameInUse: 10058,
  streamNotFound: 10059,
  storageExceeded: [10002, 10028, 10047],
  storeFailed: 10077,
  duplicateInProgress: 10158,
  atomicDisabled: 10174,
  incompleteBatch: 10176,
  containsDuplicate: 10201
}

/** With these the same call may succeed later. */
const TRANSIENT = [10004, 10005, 10008, NUMBER.notLeader, NUMBER.duplicateInProgress, NUMBER.incompleteBatch,
  NUMBER.storeFailed, NUMBER.otherSequence]

/** @typedef {{ place: string, subject: string, timeoutMs: number }} Where */

/** An error that the server sent in the JSON of an answer. @param {any} error @returns {JetStreamApiError} */
function apiError (error) {
  return new JetStreamApiError(error)
}

/** @param {unknown} err @returns {number}  0 if it is no error of the JetStream API */
function numberOf (err) {
  return err instanceof JetStreamApiError ? Number(err.code ?? 0) : 0
}

/** Whether there is no message at a seq. @param {unknown} err */
function isNoMessage (err) {
  return [NUMBER.noMessage, NUMBER.sequenceNotFound].includes(numberOf(err))
}

/** Whether the stream, the account or the disk has no room. @param {unknown} err */
function isFull (err) {
  const number = numberOf(err)
  const isStore = number === NUMBER.storeFailed && /maximum|exceed|no space/i.test(/** @type {Error} */ (err).message)
  return isStore || number === NUMBER.insufficientResources || NUMBER.storageExceeded.includes(number)
}

/** @param {any} err */
function isNoResponders (err) {
  return err instanceof NoRespondersError || err?.name === 'JetStreamNotEnabled' || (err instanceof RequestError && err.isNoResponders())
}

/** Whether it is worth trying again. @param {any} err */
function isTransient (err) {
  if (err instanceof LogError) return false
  const number = numberOf(err)
  if (number !== 0) return TRANSIENT.includes(number) && !isFull(err)
  // A leader that steps down, of 2.11 and 2.12, says `raft: not leader` and gives that error no number.
  if (err instanceof JetStreamApiError) return err.status >= 500
  return isNoResponders(err) || (err instanceof RequestError && !isRefusal(err)) || err?.name === 'TimeoutError' || err?.name === 'ConnectionError'
}

/** @param {any} err */
function isRefusal (err) {
  return [err, err?.cause].some((err) => err instanceof AuthorizationError || err instanceof PermissionViolationError ||
    err instanceof UserAuthenticationExpiredError)
}

/** @type {(call: string, where: Where, cause: any) => LogError} */
function wrap (call, { place, subject, timeoutMs }, cause) {
  if (cause instanceof LogError) return cause
  const reason = cause?.message || String(cause)
  const number = numberOf(cause)
  const fail = (/** @type {any} */ code, /** @type {string} */ message) => new LogError(code, `${call}: ${message}`, { cause, path: place })
  if (isRefusal(cause)) {
    return fail('ERR_SERVER_REFUSED', `the server of ${place} refuses this client (${reason}); check the token, the credentials and the permissions`)
  }
  if (isFull(cause)) {
    return fail('ERR_LOG_FULL', `${place} is full (${reason}); raise the limits of the stream or of the server, or delete records`)
  }
  if (number === NUMBER.streamNotFound) return streamGone(call, place, cause)
  if (number === NUMBER.notMatchingStream) {
    return fail('ERR_LOG_REPLACED', `the subject ${subject} leads to another stream than ${place} now; nothing was appended there`)
  }
  if (number === NUMBER.messageTooLarge) return fail('ERR_RECORD_TOO_LARGE', `${place} takes no record of this size (${reason})`)
  if (number !== 0 && !TRANSIENT.includes(number)) return fail('ERR_SERVER_REFUSED', `the server of ${place} refuses the call: ${reason}`)
  return fail('ERR_SERVER_UNAVAILABLE', `no server of ${place} has answered for ${timeoutMs} ms (${reason}). ` +
    (call === 'append' ? 'The records may be there all the same, once' : 'Try again later'))
}

/** @type {(call: string, place: string, cause?: unknown) => LogError} */
function streamGone (call, place, cause) {
  return new LogError('ERR_LOG_REPLACED', `${call}: ${place} was deleted, with its records. To begin a new stream, open the log again`,
    { cause, path: place })
}

/** @type {(call: string, place: string, seq: number, first: number) => LogError} */
function retained (call, place, seq, first) {
  return new LogError('ERR_LOG_SEQ_RETAINED', `${call}: ${place} has dropped its records below ${first}, as the limits of the ` +
    `stream say, and with them ${seq}. Read from the first record that is kept (gt: -1), and build views again`, { offset: seq, path: place })
}

exports.NUMBER = NUMBER
exports.apiError = apiError
exports.isNoMessage = isNoMessage
exports.isNoResponders = isNoResponders
exports.isTransient = isTransient
exports.numberOf = numberOf
exports.streamGone = streamGone
exports.wrap = wrap
exports.retained = retained
