;;; What a user of dap-mode does, key by key: a breakpoint, a look at the variables, a step.
;;; -*- lexical-binding: t -*-

(require 'package)
(package-initialize)
(setq make-backup-files nil
      create-lockfiles nil
      dap-auto-configure-features nil)
(load (getenv "CONFIGURATION"))

(defvar stopped nil "The session whose thread has stopped.")
(add-hook 'dap-stopped-hook (lambda (session) (setq stopped session)))

(defun wait-until (what test)
  "Wait until TEST holds; WHAT says what is waited for."
  (let ((end (+ (float-time) 60)))
    (while (and (not (funcall test)) (< (float-time) end))
      (accept-process-output nil 0.05)))
  (unless (funcall test)
    (error "It did not happen: %s" what)))

(defun frame () "The selected frame." (and stopped (dap--debug-session-active-frame stopped)))

(defun ask (request arguments)
  "The body of the answer to REQUEST with ARGUMENTS."
  (let (answer)
    (dap--send-message (dap--make-request request arguments)
                       (lambda (found) (setq answer found))
                       stopped)
    (wait-until request (lambda () answer))
    (gethash "body" answer)))

(find-file (getenv "SOURCE"))
(forward-line (1- (string-to-number (getenv "LINE"))))
(dap-breakpoint-add)
(dap-debug (list :type "jvmti" :request "attach" :name "JVM"
                 :pid (string-to-number (getenv "JVM"))))
(wait-until "stop" #'frame)
(message "frame %s line %s" (gethash "name" (frame)) (gethash "line" (frame)))
(message "cursor line %s" (line-number-at-pos))
(let* ((scopes (ask "scopes" (list :frameId (gethash "id" (frame)))))
       (scope (elt (gethash "scopes" scopes) 0))
       (found (ask "variables"
                   (list :variablesReference (gethash "variablesReference" scope)))))
  (mapc (lambda (one) (message "variable %s = %s" (gethash "name" one) (gethash "value" one)))
        (gethash "variables" found)))
(let ((before (frame)) (session stopped))
  (setq stopped nil)
  (dap-next session)
  (wait-until "step" (lambda () (and (frame) (not (eq (frame) before))
                                     (/= (gethash "line" (frame)) (gethash "line" before))))))
(message "stepped to line %s" (gethash "line" (frame)))
(dap-breakpoint-delete-all)
(let ((before (frame)))
  (jvmti-return-early "4000")
  (wait-until "early return" (lambda () (and (frame) (not (eq (frame) before))))))
(dap-continue stopped (dap--debug-session-thread-id stopped))
(accept-process-output nil 0.5)
(dap-disconnect stopped)
(accept-process-output nil 1)
(message "done")
