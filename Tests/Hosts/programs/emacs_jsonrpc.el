;;; emacs_jsonrpc.el --- jsonrpc.el, part of Emacs -*- lexical-binding: t -*-
(require 'jsonrpc)
(defvar progress 0)
(defun say (&rest arguments)
  (princ (concat (apply #'format arguments) "\n") #'external-debugging-output))
(defun state (answer) (plist-get (plist-get answer :download) :state))
(let* ((mode (getenv "MODE"))
       (connection
        (make-instance
         'jsonrpc-process-connection :name "towline"
         :process (lambda ()
                    (make-process :name "towline" :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                  :command (list (getenv "TOWLINE") "--state-dir" (getenv "STATE"))
                                  :stderr (get-buffer-create "*towline stderr*")))
         :notification-dispatcher
         (lambda (_connection method _params) (when (eq method 'progress) (setq progress (1+ progress)))))))
  (jsonrpc-request connection :initialize (list :processId (emacs-pid) :capabilities (make-hash-table)))
  (let ((answer (jsonrpc-request connection :start
                                 (list :id "disk" :url (getenv "URL") :path (getenv "DESTINATION")))))
    (say "resumed %s" (if (eq (plist-get answer :resumed) t) "true" "false")))
  (while (equal mode "hold") (accept-process-output nil 1))
  (when (equal mode "full")
    (while (< progress 3) (accept-process-output nil 0.1))
    (say "progress %d" progress)
    (say "paused %s" (state (jsonrpc-request connection :pause '(:id "disk"))))
    (say "continued %s" (state (jsonrpc-request connection :resume '(:id "disk")))))
  (condition-case failure (jsonrpc-request connection :get '(:id "nobody"))
    (jsonrpc-error (say "error %s" (alist-get 'jsonrpc-error-code (cddr failure)))))
  (say "ended %s" (state (jsonrpc-request connection :wait '(:id "disk") :timeout 60)))
  (jsonrpc-request connection :shutdown nil)
  (jsonrpc-notify connection :exit nil)
  (let ((process (jsonrpc--process connection)))
    (while (process-live-p process) (accept-process-output process 0.1))
    (say "exit %d" (process-exit-status process))))
