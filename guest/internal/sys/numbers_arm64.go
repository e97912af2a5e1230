package sys

// Calls that the standard library doesn't name on this architecture.
const (
	sysFstatat         = 79
	sysReadlinkat      = 78
	sysMemfdCreate     = 279
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)
