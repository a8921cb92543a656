// Prints what publint and arethetypeswrong find in tarballs, as JSON. It runs where they are installed.
// Usage: node lint.mjs <tarball> ...

import fs from 'node:fs'
import path from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const found = []
for (const tarball of process.argv.slice(2)) {
  const bytes = new Uint8Array(fs.readFileSync(tarball))
  const name = path.basename(tarball)
  const { problems } = await checkPackage(createPackageFromTarballData(bytes))
  for (const { kind, entrypoint, resolutionKind } of problems ?? []) found.push(`${name}: ${kind} of ${entrypoint}, ${resolutionKind}`)
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
  for (const message of messages) found.push(`${name}: ${formatMessage(message, pkg)}`)
}
console.log(JSON.stringify(found))
