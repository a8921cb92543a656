'use strict'
// API keys. The file holds only their SHA-256: whoever reads it cannot write to a log. It is replaced as a whole, and
// a running server reads it again within a second.

const crypto = require('node:crypto')
const fs = require('node:fs/promises')
const path = require('node:path')
const { clearTimeout, setTimeout } = require('node:timers')
const { fileStorage, readWhole, resolvePath } = require('@millrace/block-file')
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')

const SECRET_SIZE = 32
const PREFIX = 'mr_'
const POLL_MS = 500
const SCOPE = /^(read|write):([a-z0-9][a-z0-9_-]{0,63}|[a-z0-9_-]{0,63}\*)$/

/** @typedef {import('@millrace/block-file').Storage} Storage */
/** @typedef {import('@millrace/block-file').FileState} FileState */

/**
 * @typedef {object} Key
 * @property {string} id  to name it in lists and when it is revoked
 * @property {string} hash  SHA-256 of the secret, in hex
 * @property {string[]} scopes  such as `write:orders`, `read:*`, `write:app-*`
 * @property {string} created  an ISO date
 * @property {string} [note]  for people
 * @property {string} [otlpLog]  the log that OTLP records go to; `otlp` by default
 */

/** A key while it is valid. A change of what it may do makes another one of it. */
class ActiveKey {
  #ending = new AbortController()
  isRevoked = false

  /** @param {Key} key */
  constructor ({ id, hash, scopes, otlpLog }) {
    this.id = id
    this.hash = hash
    this.scopes = scopes
    this.otlpLog = otlpLog
  }

  /** Aborted when the key is revoked. @returns {AbortSignal} */
  get ended () {
    return this.#ending.signal
  }

  revoke () {
    this.isRevoked = true
    this.#ending.abort()
  }

  /** @param {Key} key */
  isAs ({ id, scopes, otlpLog }) {
    return id === this.id && otlpLog === this.otlpLog && scopes.join() === this.scopes.join()
  }
}

/** Keys of a file, as a server needs them. */
class Keys {
  #file
  #storage
  /** By hash; null if there was no file, so that no key is needed. @type {Map<string, ActiveKey> | null} */
  #byHash = null
  /** Aborted when keys become necessary. */
  #freedom = new AbortController()
  /** Of the file that was read last; null if that failed, or was not tried yet. @type {string | null} */
  #state = null
  #complaint = ''
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  #isReadable = true
  /** @type {(err: Error) => void} */
  #report

  /**
   * @param {{ file: string, storage?: Storage }} place  of the file
   * @param {(err: Error) => void} [report]
   * @param {boolean} [areRequired]  whether requests need a key also if there is no file
   */
  constructor ({ file, storage = fileStorage }, report = () => {}, areRequired = false) {
    this.#file = file
    this.#storage = storage
    this.#report = report
    if (areRequired) this.#byHash = new Map()
  }

  /** Reads the file, and again whenever it changes. */
  async start () {
    await this.#read()
    const look = async () => {
      try {
        await this.#read()
        this.#complaint = ''
      } catch (/** @type {any} */ err) {
        // It is tried again and again, and is said once.
        if (err.message !== this.#complaint) this.#report(err)
        this.#complaint = err.message
      }
      if (this.#timer !== null) this.#timer = setTimeout(look, POLL_MS).unref()
    }
    this.#timer = setTimeout(look, POLL_MS).unref()
  }

  /** Reads the file no more. */
  stop () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Whether requests need a key. Once they did, they always do: a file that is gone lets nobody in. */
  get areNeeded () {
    return this.#byHash !== null
  }

  /** How many are valid. */
  get count () {
    return this.#byHash?.size ?? 0
  }

  /** False: the file cannot be read or is not a file of keys. Then no key is valid. */
  get isReadable () {
    return this.#isReadable
  }

  /** Whether somebody may go on who was let in with this key, or without one. @param {ActiveKey | null} key */
  isValid (key) {
    return key === null ? !this.areNeeded : !key.isRevoked
  }

  /** Aborted once that is no longer so. @param {ActiveKey | null} key @returns {AbortSignal} */
  endOf (key) {
    return key === null ? this.#freedom.signal : key.ended
  }

  /**
   * Gives the key of a header `Authorization`; null if there is none, or if no key is needed.
   * @param {string | undefined} authorization  the header
   * @returns {ActiveKey | null}
   */
  find (authorization) {
    const [, secret] = /^Bearer ([\w-]+)$/i.exec(authorization ?? '') ?? []
    return secret === undefined ? null : this.#byHash?.get(hashOf(secret)) ?? null
  }

  async #read () {
    try {
      const { state, text } = await look(this.#storage, this.#file, this.#state)
      if (state === this.#state) return
      const keys = text === null ? null : parseKeys(this.#file, text)
      if (keys !== null || this.areNeeded) this.#replaceBy(keys ?? [])
      this.#isReadable = true
      this.#state = state
    } catch (err) {
      this.#replaceBy([])
      this.#isReadable = false
      this.#state = null
      throw err
    }
  }

  /** @param {Key[]} keys */
  #replaceBy (keys) {
    const before = this.#byHash ?? new Map()
    this.#byHash = new Map(keys.map((key) => {
      const old = before.get(key.hash)
      return [key.hash, old?.isAs(key) ? old : new ActiveKey(key)]
    }))
    this.#freedom.abort()
    for (const old of before.values()) if (this.#byHash.get(old.hash) !== old) old.revoke()
  }
}

/**
 * @param {Pick<Key, 'scopes'>} key
 * @param {'read' | 'write'} action
 * @param {string} log  `*`: all logs
 */
function allows ({ scopes }, action, log) {
  return scopes.some((scope) => {
    const [what, name] = scope.split(':')
    return what === action && (name === log || (name.endsWith('*') && log.startsWith(name.slice(0, -1))))
  })
}

/**
 * Makes a key and adds it to the file, as `millrace keys create` does. A scope is `read:` or `write:` and the name of a
 * log, or the beginning of names and `*`. The secret has 256 random bits; only its SHA-256 is in the file, and the
 * secret is nowhere else. A server that is running knows the key within a second.
 * @param {string} file  `keys.json` in the folder of the logs; it is made with mode 0600
 * @param {Pick<Key, 'scopes' | 'note' | 'otlpLog'>} options
 * @returns {Promise<{ secret: string, key: Key }>}
 */
async function createKey (file, options) {
  const { scopes, note, otlpLog } = options ?? {}
  if (!Array.isArray(scopes) || scopes.length === 0) throw misuse('createKey: a key needs a scope, such as write:orders or read:*')
  for (const scope of scopes) {
    if (typeof scope === 'string' && SCOPE.test(scope)) continue
    throw misuse(`createKey: ${reasonOf(scope)} is no scope; expected read: or write: and the name of a log, ` +
      'or the beginning of names and *')
  }
  const secret = PREFIX + crypto.randomBytes(SECRET_SIZE).toString('base64url')
  const id = crypto.randomBytes(4).toString('hex')
  /** @type {Key} */
  const key = { id, hash: hashOf(secret), scopes, created: new Date().toISOString() }
  if (note !== undefined && typeof note !== 'string') throw misuse(`createKey: note must be a text, got ${reasonOf(note)}`)
  if (note) key.note = note
  if (otlpLog !== undefined) {
    if (typeof otlpLog !== 'string' || !SCOPE.test(`write:${otlpLog}`) || !allows(key, 'write', otlpLog)) {
      const name = reasonOf(otlpLog)
      throw misuse(`createKey: a key whose OTLP records go to ${name} needs the scope write:${name}`)
    }
    key.otlpLog = otlpLog
  }
  await changeKeys(file, (keys) => [...keys, key])
  return { secret, key }
}

/**
 * Takes a key out of the file. It ends what goes on with the key: streams, reads, and writes whose body is still
 * coming.
 * @type {(file: string, id: string) => Promise<void>}
 */
async function revokeKey (file, id) {
  await changeKeys(file, (keys) => {
    const left = keys.filter((key) => key.id !== id)
    if (left.length === keys.length) throw misuse(`revokeKey: there is no key ${reasonOf(id)}`)
    return left
  })
}

/** Gives the keys of a file; none if there is no file. @type {(file: string) => Promise<Key[]>} */
async function listKeys (file) {
  return await readKeys(file) ?? []
}

/** @type {(file: string) => Promise<Key[] | null>} null if there is no file */
async function readKeys (file) {
  // A number would be an open file.
  if (typeof file !== 'string') throw misuse(`expected the path of a file of keys, got ${reasonOf(file)}`)
  resolvePath(file)
  let text
  try {
    text = await fs.readFile(file, 'utf8')
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return null
    throw err
  }
  return parseKeys(file, text)
}

/**
 * What a file has, if it is another one than before, or was changed.
 * @type {(storage: Storage, file: string, before: string | null) => Promise<{ state: string, text: string | null }>}
 *   `text`: null if there is no file, or if it is as before
 */
async function look (storage, file, before) {
  const handle = await promisesOf(storage).open(file, { flags: 'r', createFolder: false }).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  if (handle === null) return { state: '', text: null }
  try {
    const found = handle.stat ? await promisesOf(handle).stat() : { size: await promisesOf(handle).size() }
    const { inode, modifiedNs, changedNs, size } = /** @type {Partial<FileState> & { size: number }} */ (found)
    const state = [inode, modifiedNs, changedNs, size].join()
    if (state === before) return { state, text: null }
    const bytes = Buffer.alloc(size)
    const count = await toPromise((/** @type {any} */ cb) => readWhole(handle, bytes, 0, cb))
    return { state, text: bytes.toString('utf8', 0, count) }
  } finally {
    await promisesOf(handle).close().catch(() => {})
  }
}

/** @type {(file: string, text: string) => Key[]} */
function parseKeys (file, text) {
  try {
    const { keys } = JSON.parse(text)
    if (keys.every(isKey)) return keys
  } catch {
    // It has another form.
  }
  throw new LogError('ERR_INVALID_ARGUMENT', `${file} is not a file of keys; restore it, or make new keys`, { path: file })
}

/** @param {any} key */
function isKey ({ id, hash, scopes }) {
  return [id, hash].every(isText) && Array.isArray(scopes) && scopes.every(isText)
}

/** @param {unknown} value */
function isText (value) {
  return typeof value === 'string'
}

/** @type {(file: string, change: (keys: Key[]) => Key[]) => Promise<void>} */
async function changeKeys (file, change) {
  const folder = path.dirname(resolvePath(file))
  fileStorage.makeFolderSync?.(file)
  // While it exists, nobody else changes the keys.
  const next = `${file}.new`
  const handle = await fs.open(next, 'wx', 0o600).catch((err) => {
    if (err.code !== 'EEXIST') throw err
    throw new LogError('EEXIST', `${next} exists: the keys are being changed. If they are not, remove it`)
  })
  try {
    await handle.writeFile(`${JSON.stringify({ keys: change(await listKeys(file)) }, null, 2)}\n`)
    await handle.sync()
    await handle.close()
    await fs.rename(next, file)
  } catch (err) {
    await handle.close().catch(() => {})
    await fs.unlink(next).catch(() => {})
    throw err
  }
  const opened = await fs.open(folder, 'r').catch(() => null)
  await opened?.sync().catch(() => {})
  await opened?.close()
}

/** @param {string} secret */
function hashOf (secret) {
  return crypto.createHash('sha256').update(secret).digest('hex')
}

exports.ActiveKey = ActiveKey
exports.Keys = Keys
exports.allows = allows
exports.createKey = createKey
exports.revokeKey = revokeKey
exports.listKeys = listKeys
