# open3 and json, both part of Ruby.
require 'json'
require 'open3'
$stdout.sync = true
$in, $out, process = Open3.popen2(ENV['TOWLINE'], '--state-dir', ENV['STATE'])
$number = 0
$progress = 0

def call(method, params = nil)
  id = ($number += 1)
  $in.puts({ jsonrpc: '2.0', id: id, method: method, params: params }.to_json)
  $in.flush
  $out.each_line do |line|
    message = JSON.parse(line)
    $progress += 1 if message['method'] == 'progress'
    return message if !message.key?('method') && message['id'] == id
  end
  raise 'the service ended'
end

answer = call('start', { id: 'disk', url: ENV['URL'], path: ENV['DESTINATION'] })
puts "resumed #{answer['result']['resumed']}"
sleep if ENV['MODE'] == 'hold'
if ENV['MODE'] == 'full'
  while $progress < 3
    call('ping')
    sleep 0.02
  end
  puts "progress #{$progress}"
  puts "paused #{call('pause', { id: 'disk' })['result']['download']['state']}"
  puts "continued #{call('resume', { id: 'disk' })['result']['download']['state']}"
end
puts "error #{call('get', { id: 'nobody' })['error']['code']}"
puts "ended #{call('wait', { id: 'disk' })['result']['download']['state']}"
$in.close
puts "exit #{process.value.exitstatus}"
