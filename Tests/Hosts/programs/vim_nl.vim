" A channel in mode nl: Vim delivers whole lines.
let g:progress = 0
let g:answers = {}
let g:number = 0
func! Say(text)
  call writefile([a:text], $REPORT, 'a')
endfunc
func! OnLine(channel, line)
  let message = json_decode(a:line)
  if !has_key(message, 'method')
    let g:answers[message.id] = message
  elseif message.method == 'progress'
    let g:progress += 1
  endif
endfunc
let job = job_start([$TOWLINE, '--state-dir', $STATE], {'mode': 'nl', 'out_cb': 'OnLine'})
func! Call(method, params)
  let g:number += 1
  let number = g:number
  call ch_sendraw(g:job, json_encode({'jsonrpc': '2.0', 'id': number, 'method': a:method, 'params': a:params}) . "\n")
  while !has_key(g:answers, number) | sleep 10m | endwhile
  return g:answers[number]
endfunc
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
call ch_close_in(job)
while job_status(job) == 'run' | sleep 20m | endwhile
call Say('exit ' . job_info(job).exitval)
qa!
