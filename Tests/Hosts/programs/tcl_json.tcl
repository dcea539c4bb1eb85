# json of tcllib, and a pipe from `open`.
package require json
set pipe [open "|[list $env(TOWLINE) --state-dir $env(STATE)]" r+]
fconfigure $pipe -buffering line -translation lf -encoding utf-8
fconfigure stdout -buffering line
set number 0
set progress 0
proc quoted text { return "\"[string map {\\ \\\\ \" \\\"} $text]\"" }
proc call {method args} {
    global pipe number progress
    set id [incr number]
    set members {}
    foreach {name value} $args { lappend members "[quoted $name]:[quoted $value]" }
    puts $pipe "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":[quoted $method],\"params\":{[join $members ,]}}"
    while {[gets $pipe line] >= 0} {
        set message [json::json2dict $line]
        if {[dict exists $message method]} {
            if {[dict get $message method] eq "progress"} { incr progress }
        } elseif {[dict get $message id] == $id} { return $message }
    }
    error "the service ended"
}
puts "resumed [dict get [call start id disk url $env(URL) path $env(DESTINATION)] result resumed]"
while {$env(MODE) eq "hold"} { after 100 }
if {$env(MODE) eq "full"} {
    while {$progress < 3} { call ping; after 20 }
    puts "progress $progress"
    puts "paused [dict get [call pause id disk] result download state]"
    puts "continued [dict get [call resume id disk] result download state]"
}
puts "error [dict get [call get id nobody] error code]"
puts "ended [dict get [call wait id disk] result download state]"
close $pipe write
while {[gets $pipe line] >= 0} {}
set status 0
if {[catch {close $pipe} message options]} { set status [lindex [dict get $options -errorcode] 2] }
puts "exit $status"
