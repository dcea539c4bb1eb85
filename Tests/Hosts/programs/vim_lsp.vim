" A channel in mode lsp: Vim frames and numbers requests, and matches the answers to them.
let g:progress = 0
func! Say(text)
  call writefile([a:text], $REPORT, 'a')
endfunc
func! OnMessage(channel, message)
  if get(a:message, 'method', '') == 'progress' | let g:progress += 1 | endif
endfunc
let job = job_start([$TOWLINE, '--state-dir', $STATE], {'in_mode': 'lsp', 'out_mode': 'lsp', 'err_mode': 'nl', 'out_cb': 'OnMessage'})
let channel = job_getchannel(job)
func! Call(method, params)
  return ch_evalexpr(g:channel, {'method': a:method, 'params': a:params}, {'timeout': 60000})
endfunc
call Call('initialize', {'processId': getpid(), 'capabilities': {}})
let answer = Call('start', {'id': 'disk', 'url': $URL, 'path': $DESTINATION})
call Say('resumed ' . (answer.result.resumed ? 'true' : 'false'))
while $MODE == 'hold' | sleep 100m | endwhile
if $MODE == 'full'
  while g:progress < 3 | sleep 20m | endwhile
  call Say('progress ' . g:progress)
  call Say('paused ' . Call('pause', {'id': 'disk'}).result.download.state)
  call Say('continued ' . Call('resume', {'id': 'disk'}).result.download.state)
endif
call Say('error ' . Call('get', {'id': 'nobody'}).error.code)
call Say('ended ' . Call('wait', {'id': 'disk'}).result.download.state)
call Call('shutdown', {})
call ch_sendexpr(channel, {'method': 'exit'})
while job_status(job) == 'run' | sleep 20m | endwhile
call Say('exit ' . job_info(job).exitval)
qa!
