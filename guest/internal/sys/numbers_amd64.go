package sys

// Calls that the standard library doesn't name on this architecture.
const (
	sysFstatat         = 262
	sysReadlinkat      = 267
	sysMemfdCreate     = 319
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)
