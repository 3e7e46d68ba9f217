//! A backend in Rust: output OUTPUT0 is the first input. Built by
//! rustc --edition 2021 --crate-type cdylib -C panic=abort copy.rs -o libtriton_copy.so
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{copy_nonoverlapping, null, null_mut};

/// An object of the server's: what a handle points to.
type Handle = *mut c_void;
/// Null: no error.
type Error = *mut c_void;

// The functions of the C API that it calls; the server has them, and they are found when the file is loaded.
#[rustfmt::skip]
extern "C" {
    fn TRITONSERVER_ErrorDelete(error: Error);
    fn TRITONBACKEND_RequestInputByIndex(request: Handle, index: u32, input: *mut Handle) -> Error;
    fn TRITONBACKEND_InputProperties(input: Handle, name: *mut *const c_char, datatype: *mut c_int, shape: *mut *const i64,
                                     dims: *mut u32, byte_size: *mut u64, buffers: *mut u32) -> Error;
    fn TRITONBACKEND_InputBuffer(input: Handle, index: u32, buffer: *mut *const u8, byte_size: *mut u64,
                                 memory_type: *mut c_int, memory_type_id: *mut i64) -> Error;
    fn TRITONBACKEND_ResponseNew(response: *mut Handle, request: Handle) -> Error;
    fn TRITONBACKEND_ResponseOutput(response: Handle, output: *mut Handle, name: *const c_char, datatype: c_int,
                                    shape: *const i64, dims: u32) -> Error;
    fn TRITONBACKEND_OutputBuffer(output: Handle, buffer: *mut *mut u8, byte_size: u64, memory_type: *mut c_int,
                                  memory_type_id: *mut i64) -> Error;
    fn TRITONBACKEND_ResponseSend(response: Handle, flags: u32, error: Error) -> Error;
    fn TRITONBACKEND_RequestRelease(request: Handle, flags: u32) -> Error;
}
const FINAL: u32 = 1;
const RELEASE_ALL: u32 = 1;
const CPU: c_int = 0;

fn result_of(error: Error) -> Result<(), Error> {
    if error.is_null() { Ok(()) } else { Err(error) }
}

/// Copies the input, which may come in several buffers, to the output.
unsafe fn copy(request: Handle, response: Handle) -> Result<(), Error> {
    let (mut input, mut output, mut to) = (null_mut(), null_mut(), null_mut());
    let (mut datatype, mut shape, mut dims, mut size, mut buffers) = (0, null(), 0, 0, 0);
    result_of(TRITONBACKEND_RequestInputByIndex(request, 0, &mut input))?;
    result_of(TRITONBACKEND_InputProperties(input, null_mut(), &mut datatype, &mut shape, &mut dims, &mut size, &mut buffers))?;
    result_of(TRITONBACKEND_ResponseOutput(response, &mut output, b"OUTPUT0\0".as_ptr().cast(), datatype, shape, dims))?;
    let (mut kind, mut id) = (CPU, 0);
    result_of(TRITONBACKEND_OutputBuffer(output, &mut to, size, &mut kind, &mut id))?;
    for index in 0..buffers {
        let mut from = null();
        result_of(TRITONBACKEND_InputBuffer(input, index, &mut from, &mut size, &mut kind, &mut id))?;
        if size != 0 {
            copy_nonoverlapping(from, to, size as usize);
            to = to.add(size as usize);
        }
    }
    Ok(())
}

/// Answers one request; what goes wrong is its answer.
unsafe fn execute(request: Handle) {
    let mut response = null_mut();
    let mut failure = TRITONBACKEND_ResponseNew(&mut response, request);
    if failure.is_null() {
        failure = copy(request, response).err().unwrap_or(null_mut());
        TRITONSERVER_ErrorDelete(TRITONBACKEND_ResponseSend(response, FINAL, failure));
    }
    TRITONSERVER_ErrorDelete(failure);
    TRITONSERVER_ErrorDelete(TRITONBACKEND_RequestRelease(request, RELEASE_ALL));
}

/// # Safety
/// The server's handles.
#[no_mangle]
pub unsafe extern "C" fn TRITONBACKEND_ModelInstanceExecute(_instance: Handle, requests: *const Handle, count: u32) -> Error {
    for index in 0..count as usize {
        execute(*requests.add(index));
    }
    null_mut()
}
