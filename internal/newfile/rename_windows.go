package newfile

import "golang.org/x/sys/windows"

// renameNew does not set the flag that replaces an existing file.
func renameNew(from, to string) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(old, name, windows.MOVEFILE_WRITE_THROUGH)
}
