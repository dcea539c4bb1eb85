// child_process, readline and JSON, all part of Node.
import { spawn } from 'node:child_process';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
const { TOWLINE, STATE, URL: url, DESTINATION, MODE } = process.env;
const service = spawn(TOWLINE, ['--state-dir', STATE], { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = new Promise((resolve) => service.on('exit', resolve));
const pending = new Map();
let number = 0;
let progress = 0;
readline.createInterface({ input: service.stdout, crlfDelay: Infinity }).on('line', (line) => {
  const message = JSON.parse(line);
  if (!message.method) pending.get(message.id)(message);
  else if (message.method === 'progress') progress += 1;
});
const call = (method, params) => new Promise((resolve) => {
  pending.set(++number, resolve);
  service.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: number, method, params }) + '\n');
});
const answer = await call('start', { id: 'disk', url, path: DESTINATION });
console.log('resumed', answer.result.resumed);
while (MODE === 'hold') await sleep(1000);
if (MODE === 'full') {
  while (progress < 3) await sleep(20);
  console.log('progress', progress);
  console.log('paused', (await call('pause', { id: 'disk' })).result.download.state);
  console.log('continued', (await call('resume', { id: 'disk' })).result.download.state);
}
console.log('error', (await call('get', { id: 'nobody' })).error.code);
console.log('ended', (await call('wait', { id: 'disk' })).result.download.state);
service.stdin.end();
console.log('exit', await exited);
