-- jobstart, part of Neovim.
local progress, status, rest, answers, number = 0, nil, '', {}, 0
local function say(text) io.stdout:write(text .. '\n') io.stdout:flush() end
local job = vim.fn.jobstart({ os.getenv 'TOWLINE', '--state-dir', os.getenv 'STATE' }, {
  on_stdout = function(_, data)
    rest = rest .. table.concat(data, '\n')
    while true do
      local line, after = rest:match '^([^\n]*)\n(.*)$'
      if not line then break end
      rest = after
      local message = vim.json.decode(line)
      if not message.method then answers[message.id] = message
      elseif message.method == 'progress' then progress = progress + 1 end
    end
  end,
  on_exit = function(_, code) status = code end,
})
local function call(method, params)
  number = number + 1
  local id = number
  vim.fn.chansend(job, vim.json.encode { jsonrpc = '2.0', id = id, method = method, params = params } .. '\n')
  vim.wait(60000, function() return answers[id] end, 10)
  return answers[id]
end
local answer = call('start', { id = 'disk', url = os.getenv 'URL', path = os.getenv 'DESTINATION' })
say('resumed ' .. tostring(answer.result.resumed))
while os.getenv 'MODE' == 'hold' do vim.wait(1000) end
if os.getenv 'MODE' == 'full' then
  vim.wait(60000, function() return progress >= 3 end, 10)
  say('progress ' .. progress)
  say('paused ' .. call('pause', { id = 'disk' }).result.download.state)
  say('continued ' .. call('resume', { id = 'disk' }).result.download.state)
end
say('error ' .. call('get', { id = 'nobody' }).error.code)
say('ended ' .. call('wait', { id = 'disk' }).result.download.state)
vim.fn.chanclose(job, 'stdin')
vim.wait(20000, function() return status end, 10)
say('exit ' .. tostring(status))
vim.cmd 'qa!'
