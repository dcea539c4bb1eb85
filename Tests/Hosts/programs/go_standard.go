// os/exec, bufio and encoding/json of the standard library.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

type object = map[string]any

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	service := exec.Command(os.Getenv("TOWLINE"), "--state-dir", os.Getenv("STATE"))
	service.Stderr = os.Stderr
	in, err := service.StdinPipe()
	must(err)
	out, err := service.StdoutPipe()
	must(err)
	must(service.Start())
	encoder, lines := json.NewEncoder(in), bufio.NewScanner(out)
	number, progress := 0, 0
	call := func(method string, params object) object {
		number++
		must(encoder.Encode(object{"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
		for lines.Scan() {
			var message object
			must(json.Unmarshal(lines.Bytes(), &message))
			if message["method"] == "progress" {
				progress++
			} else if message["method"] == nil && message["id"] == float64(number) {
				return message
			}
		}
		panic("the service ended")
	}
	disk := object{"id": "disk"}
	state := func(answer object) any { return answer["result"].(object)["download"].(object)["state"] }
	mode := os.Getenv("MODE")
	answer := call("start", object{"id": "disk", "url": os.Getenv("URL"), "path": os.Getenv("DESTINATION")})
	fmt.Println("resumed", answer["result"].(object)["resumed"])
	for mode == "hold" {
		time.Sleep(time.Second)
	}
	if mode == "full" {
		for progress < 3 {
			call("ping", nil)
			time.Sleep(20 * time.Millisecond)
		}
		fmt.Println("progress", progress)
		fmt.Println("paused", state(call("pause", disk)))
		fmt.Println("continued", state(call("resume", disk)))
	}
	fmt.Println("error", call("get", object{"id": "nobody"})["error"].(object)["code"])
	fmt.Println("ended", state(call("wait", disk)))
	must(in.Close())
	_ = service.Wait()
	fmt.Println("exit", service.ProcessState.ExitCode())
}
