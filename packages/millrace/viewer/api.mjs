// Asks the server for lines of JSON, and hands each on as it comes.

/**
 * @param {string} name  of the answer
 * @param {Record<string, string | number | undefined>} parameters
 * @param {(line: any) => void} onLine
 * @param {AbortSignal} [signal]  ends the request, and the work behind it
 */
export async function ask (name, parameters, onLine, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const response = await fetch(`${name}?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`, { signal })
  if (!response.ok) throw new Error(await response.text())
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) onLine(JSON.parse(line))
  }
}

/** @returns {Promise<any>}  the one line of an answer that has one */
export async function askOnce (name, parameters, signal) {
  let answer = null
  await ask(name, parameters, (line) => { answer = line }, signal)
  if (answer?.error !== undefined && answer.seq === undefined) throw new Error(answer.error)
  return answer
}
