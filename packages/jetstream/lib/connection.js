'use strict'
// The connection to the servers. All options of @nats-io/transport-node pass through: TLS, credentials, tokens.

const { LogError } = require('@millrace/errors')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')

/**
 * @param {import('@nats-io/transport-node').NodeConnectionOptions} options
 */
async function connectTo (options) {
  try {
    const connection = await connect(options)
    return { connection, manager: await jetstreamManager(connection, { checkAPI: false }) }
  } catch (cause) {
    throw new LogError('ERR_NOT_SUPPORTED', `open: no connection to ${String(options.servers)}`, { cause })
  }
}

exports.connectTo = connectTo
