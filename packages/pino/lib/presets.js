'use strict'
// Options for pino and for the destination that fit together, for some kinds of programs.

const { misuse, reasonOf } = require('@millrace/errors')
const { destination } = require('./destination')
const { checkDestination } = require('./options')

const MIB = 2 ** 20

// What libraries put into lines of requests, and what programs call their secrets.
const NAMES = ['password', 'passwd', 'secret', 'token', 'accessToken', 'refreshToken', 'apiKey', 'api_key', 'authorization', 'cookie']
const HEADERS = ['authorization', 'cookie', '["set-cookie"]', '["proxy-authorization"]', '["x-api-key"]']
const REDACTED = [
  ...NAMES, ...NAMES.map((name) => `*.${name}`),
  ...['req', 'res', 'request', 'response'].flatMap((name) => HEADERS.map((header) => {
    return `${name}.headers${header.startsWith('[') ? '' : '.'}${header}`
  }))
]

/**
 * @typedef {import('./options').DestinationOptions} DestinationOptions
 * @typedef {{ level: string, redact?: { paths: string[], censor: string }, base?: null }} LoggerOptions  the options
 *   `level`, `redact` and `base` of pino, as presets set them
 * @typedef {{ logger: LoggerOptions, destination: DestinationOptions }} Preset
 */

const redact = { paths: REDACTED, censor: '[Redacted]' }

/** @type {Record<PresetName, Preset>} */
const presets = {
  development: {
    logger: { level: 'debug' },
    destination: { tee: 'pretty', log: { maxSize: 16 * MIB } }
  },
  production: {
    logger: { level: 'info', redact },
    destination: { redact: true }
  },
  fastify: {
    logger: { level: 'info', redact },
    destination: { redact: ['name', 'credentials', 'token', 'card'] }
  },
  serverless: {
    logger: { level: 'info', redact },
    // Nobody can read the disk of an instance that is gone.
    destination: { redact: true, tee: 'stdout', log: { maxSize: 32 * MIB } }
  },
  hardened: {
    logger: { level: 'info', redact },
    destination: {
      redact: true,
      eager: { warn: 'written', error: 'synced', fatal: 'synced' },
      protect: ['warn', 'error', 'fatal']
    }
  },
  minimal: {
    logger: { level: 'info', base: null },
    destination: { handleSignals: false, eager: {}, queue: { count: 1024, bytes: MIB / 4 }, log: { maxSize: 16 * MIB } }
  }
}

/**
 * `development` is for your own machine: level `debug`; lines also on standard output, for people; 16 MiB on disk.
 * `production` is for a service: all kinds of redaction. `fastify` is the same for a service on Fastify, but email
 * addresses stay. `serverless` is for a function that is frozen after each call: all redaction; lines also on
 * standard output; 32 MiB on disk; call `await to.drain({ withinMs })` before the function returns. `hardened` is for
 * an audit: all redaction; an error is synced when the call returns; warnings are never dropped. `minimal` is for
 * tools: no redaction, no `pid` and `hostname`; lines are written in batches, also errors; a queue of 256 KiB; 16 MiB
 * on disk. All others than `development` set the level `info`. With `slots`, every preset has 1 GiB on disk.
 * @typedef {'development' | 'production' | 'fastify' | 'serverless' | 'hardened' | 'minimal'} PresetName
 */

/**
 * Gives the two arguments of `pino`, its options and a destination, for one kind of program:
 * `pino(...preset('production', 'logs'))`.
 * @param {PresetName} name
 * @param {string | URL | import('./options').Log} target
 * @param {DestinationOptions} [options]  of `destination`. Each one replaces that of the preset as a whole
 * @returns {[LoggerOptions, import('./destination').Destination<any>]}  the arguments of `pino`
 */
function preset (name, target, options) {
  if (typeof name !== 'string' || !Object.hasOwn(presets, name)) {
    throw misuse(`preset: there is no ${reasonOf(name)}; there are ${Object.keys(presets).join(', ')}`)
  }
  checkDestination(options, 'preset')
  const { logger, destination: { log, ...others } } = presets[name]
  // A Log that is open has its limits already, and these are too small for many slots.
  const isLimited = (typeof target === 'string' || target instanceof URL) && !options?.slots
  const to = destination(target, { ...others, ...(isLimited && log && { log }), ...options })
  return [structuredClone(logger), to]
}

/**
 * @typedef {import('./options').Log} Log
 * @typedef {{
 *   (name: PresetName, target: string | URL, options: DestinationOptions & { slots: number | true }):
 *     [LoggerOptions, import('./destination').Destination<import('@millrace/merged-log').SlotLog>]
 *   (name: PresetName, target: string | URL, options?: DestinationOptions):
 *     [LoggerOptions, import('./destination').Destination]
 *   <L extends Log>(name: PresetName, target: L, options?: DestinationOptions):
 *     [LoggerOptions, import('./destination').Destination<L>]
 *   (name: PresetName, target: string | URL | Log, options?: DestinationOptions):
 *     [LoggerOptions, import('./destination').Destination<Log>]
 * }} CreatePreset
 */

/** @type {CreatePreset} */
exports.preset = /** @type {any} */ (preset)
