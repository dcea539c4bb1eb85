-- vim.lsp.rpc, part of Neovim.
local progress, status = 0, nil
local function say(text) io.stdout:write(text .. '\n') io.stdout:flush() end
local dispatchers = {
  notification = function(method) if method == 'progress' then progress = progress + 1 end end,
  on_exit = function(code) status = code end,
  on_error = function(code) say('client error ' .. code) end,
  server_request = function() return nil, { code = -32601, message = 'no' } end,
}
local service
if vim.fn.has 'nvim-0.11' == 1 then
  service = vim.lsp.rpc.start({ os.getenv 'TOWLINE', '--state-dir', os.getenv 'STATE' }, dispatchers)
else
  service = vim.lsp.rpc.start(os.getenv 'TOWLINE', { '--state-dir', os.getenv 'STATE' }, dispatchers)
end
local function call(method, params)
  local failure, result, answered
  service.request(method, params, function(f, r) failure, result, answered = f, r, true end)
  vim.wait(60000, function() return answered end, 10)
  return result, failure
end
call('initialize', { processId = vim.fn.getpid(), capabilities = vim.empty_dict() })
local answer = call('start', { id = 'disk', url = os.getenv 'URL', path = os.getenv 'DESTINATION' })
say('resumed ' .. tostring(answer.resumed))
while os.getenv 'MODE' == 'hold' do vim.wait(1000) end
if os.getenv 'MODE' == 'full' then
  vim.wait(60000, function() return progress >= 3 end, 10)
  say('progress ' .. progress)
  say('paused ' .. call('pause', { id = 'disk' }).download.state)
  say('continued ' .. call('resume', { id = 'disk' }).download.state)
end
local _, failure = call('get', { id = 'nobody' })
say('error ' .. failure.code)
say('ended ' .. call('wait', { id = 'disk' }).download.state)
call 'shutdown'
service.notify 'exit'
vim.wait(20000, function() return status end, 10)
say('exit ' .. tostring(status))
vim.cmd 'qa!'
