'use strict'
// The two that are compared: a JetStreamLog, and a bare client that does the same by hand.

const { jetstream } = require('@nats-io/jetstream')
const { connect, headers } = require('@nats-io/transport-node')
const { JetStreamLog } = require('@millrace/jetstream')

/**
 * @typedef {object} Client
 * @property {(records: Buffer[]) => Promise<unknown>} publish  one record, or an atomic batch
 * @property {(records: Buffer[]) => Promise<unknown>} publishApart  all under way at the same time
 * @property {(count: number) => Promise<number>} consume  from the first record on; returns the bytes
 * @property {() => Promise<void>} close
 *
 * @typedef {{ servers: string[], stream: string, replicas: number }} Place
 * @typedef {import('../../engine/row').Peer & { open: (place: Place) => Promise<Client> }} Peer
 */

/** @type {Peer} */
const millrace = {
  name: 'millrace',
  label: 'Millrace',
  kind: 'millrace',
  packages: ['@millrace/jetstream'],
  async open (place) {
    const log = JetStreamLog({ ...place, follow: false })
    await log.ready()
    return {
      publish: (records) => log.append(records.length === 1 ? records[0] : records),
      publishApart: (records) => Promise.all(records.map((record) => log.append(record))),
      async consume (count) {
        let size = 0
        for await (const { value } of log.stream({ limit: count })) size += value.length
        return size
      },
      close: () => log.close()
    }
  }
}

/** @type {Peer} */
const bare = {
  name: 'bare',
  label: '@nats-io',
  kind: 'limit',
  packages: ['@nats-io/jetstream'],
  async open ({ servers, stream }) {
    const connection = await connect({ servers })
    const client = jetstream(connection)
    // An id that no other process has given.
    const writer = `${process.pid}.${Date.now()}`
    let count = 0
    const options = () => {
      const all = headers()
      all.set('Nats-Msg-Id', `${writer}.${count++}`)
      return { headers: all }
    }
    const publishOne = (/** @type {Buffer} */ record) => client.publish(stream, record, options())
    return {
      async publish (records) {
        if (records.length === 1) return publishOne(records[0])
        const batch = await client.startBatch(stream, records[0], options())
        for (const record of records.slice(1, -1)) batch.add(stream, record, options())
        return batch.commit(stream, records[records.length - 1], options())
      },
      publishApart: (records) => Promise.all(records.map(publishOne)),
      async consume (count) {
        const consumer = await client.consumers.get(stream)
        let size = 0
        let seen = 0
        for await (const message of await consumer.consume({ max_messages: 1000 })) {
          size += message.data.length
          if (message.seq > 0 && ++seen === count) break
        }
        return size
      },
      close: () => connection.close()
    }
  }
}

exports.parts = [millrace, bare]
