-- luv (libuv) and cjson.
local uv, cjson = require 'luv', require 'cjson'
local input, output = uv.new_pipe(false), uv.new_pipe(false)
local status, progress, answers, number, rest = nil, 0, {}, 0, ''
io.stdout:setvbuf 'line'
uv.spawn(os.getenv 'TOWLINE', { args = { '--state-dir', os.getenv 'STATE' }, stdio = { input, output, 2 } },
  function(code) status = code end)
output:read_start(function(_, data)
  rest = rest .. (data or '')
  while true do
    local line, after = rest:match '^([^\n]*)\n(.*)$'
    if not line then break end
    rest = after
    local message = cjson.decode(line)
    if not message.method then answers[message.id] = message
    elseif message.method == 'progress' then progress = progress + 1 end
  end
end)
local function call(method, params)
  number = number + 1
  local id = number
  input:write(cjson.encode { jsonrpc = '2.0', id = id, method = method, params = params } .. '\n')
  while not answers[id] do uv.run 'once' end
  return answers[id]
end
local answer = call('start', { id = 'disk', url = os.getenv 'URL', path = os.getenv 'DESTINATION' })
print('resumed ' .. tostring(answer.result.resumed))
while os.getenv 'MODE' == 'hold' do uv.run 'once' end
if os.getenv 'MODE' == 'full' then
  while progress < 3 do uv.run 'once' end
  print('progress ' .. progress)
  print('paused ' .. call('pause', { id = 'disk' }).result.download.state)
  print('continued ' .. call('resume', { id = 'disk' }).result.download.state)
end
print('error ' .. ('%d'):format(call('get', { id = 'nobody' }).error.code))
print('ended ' .. call('wait', { id = 'disk' }).result.download.state)
input:close()
while not status do uv.run 'once' end
print('exit ' .. status)
